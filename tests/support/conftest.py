from tests.support.fixtures import chat_server

__all__ = ["chat_server"]
