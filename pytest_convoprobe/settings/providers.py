"""The providers whose names begin model strings, as far as they are known without LiteLLM."""

from __future__ import annotations

# Prefixes of LiteLLM's model strings that are in common use; a model that begins with one of them
# needs no provider from a weaker level.
PROVIDERS = frozenset(
    "anthropic azure azure_ai bedrock cerebras cohere cohere_chat custom_openai databricks deepinfra "
    "deepseek fireworks_ai gemini github groq hosted_vllm huggingface litellm_proxy lm_studio mistral "
    "nvidia_nim ollama ollama_chat openai openai_like openrouter perplexity replicate sagemaker sambanova "
    "text-completion-openai together_ai vercel_ai_gateway vertex_ai vllm watsonx xai".split()
)
# Providers whose models have names of other providers in them.
GATEWAYS = frozenset(
    "deepinfra fireworks_ai github groq hosted_vllm huggingface litellm_proxy nvidia_nim openrouter "
    "replicate together_ai vercel_ai_gateway".split()
)

KEY_VARIABLES = {
    "anthropic": ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
    "deepseek": ("DEEPSEEK_API_KEY",),
    "gemini": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    "groq": ("GROQ_API_KEY",),
    "mistral": ("MISTRAL_API_KEY",),
    "openai": ("OPENAI_API_KEY",),
    "xai": ("XAI_API_KEY",),
}
"""The environment variables of providers that answer nobody without a key. Others have further ways."""


def provider_of(model: str) -> str | None:
    """The part before the slash; None if there is none."""
    return model.split("/", 1)[0] if "/" in model else None
