"""A LangChain agent without a graph: looks up by embeddings, and streams the answer of its model."""

from langchain_openai import ChatOpenAI, OpenAIEmbeddings
from seen import Seen

PAGES = ["Returns are free for 30 days.", "We send within two days."]


class Agent:
    """Gets the address of its conversation, as code of one's own can."""

    def __init__(self, context):
        self.model = ChatOpenAI(model="gpt-4o-mini", base_url=context.model_url, stream_usage=True)
        self.vectors = OpenAIEmbeddings(base_url=context.model_url, check_embedding_ctx_length=False)
        self.messages = []
        self.seen = Seen()

    async def reply(self, message):
        asked, *pages = await self.vectors.aembed_documents([message, *PAGES])
        near = max(
            range(len(pages)), key=lambda at: sum(a * b for a, b in zip(asked, pages[at], strict=True))
        )
        self.messages += [("system", PAGES[near]), ("user", message)]
        text = ""
        async for chunk in self.model.astream(self.messages):
            self.seen(chunk.model_dump_json(exclude={"id"}))
            text += chunk.text
        self.messages.append(("assistant", text))
        return text
