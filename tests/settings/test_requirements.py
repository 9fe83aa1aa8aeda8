from __future__ import annotations

import pytest

from pytest_convoprobe.errors import SettingsError
from pytest_convoprobe.llm.port import Role
from pytest_convoprobe.settings.model_settings import ModelSettings
from pytest_convoprobe.settings.requirements import require_model


def test_a_model_that_is_set() -> None:
    assert require_model(ModelSettings(model="openai/x"), "judge") == "openai/x"


def test_no_model_says_what_to_set() -> None:
    with pytest.raises(SettingsError) as caught:
        require_model(ModelSettings(), Role.SYNTHETIC_USER)
    assert str(caught.value) == (
        "no model is set for the synthetic user, and a live call needs one. Set it in convoprobe.yaml:\n"
        "    llm:\n"
        "      model: openai/gpt-4o-mini      # any LiteLLM model string\n"
        "      api_key: ${OPENAI_API_KEY}\n"
        "With `run.replay: only` nothing is called, and no model is needed."
    )
    assert caught.value.remedies == ("synthetic_user.model", "run.replay=only")


def test_no_option_names_the_model_of_a_target() -> None:
    with pytest.raises(SettingsError) as caught:
        require_model(ModelSettings(), Role.TARGET)
    assert "no model is set for the target" in str(caught.value)
    assert caught.value.remedies == ("run.replay=only",)
