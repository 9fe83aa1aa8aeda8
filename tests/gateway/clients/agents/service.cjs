// The same in Node, with the npm package openai: `node service.cjs PORT`.
const fs = require("node:fs");
const http = require("node:http");
const path = require("node:path");
const crypto = require("node:crypto");
const OpenAI = require("openai");

const parameters = { type: "object", properties: { order: { type: "string" } }, required: ["order"] };
const tools = [{ type: "function", function: { name: "lookup", description: "Look up an order.", parameters } }];
const conversations = new Map();

async function reply(conversation, client, message) {
  const { messages, file } = conversation;
  messages.push({ role: "user", content: message });
  for (;;) {
    // Every second message is answered as a stream.
    const stream = messages.filter((one) => one.role === "user").length % 2 === 0;
    const asked = { model: "gpt-4o-mini", messages, tools };
    const answer = stream ? await streamed(client, asked, file) : await client.chat.completions.create(asked);
    fs.appendFileSync(file, JSON.stringify(answer) + "\n");
    const said = answer.choices[0].message;
    messages.push({ role: "assistant", content: said.content, ...(said.tool_calls && { tool_calls: said.tool_calls }) });
    if (!said.tool_calls || said.tool_calls.length === 0) return said.content;
    for (const call of said.tool_calls) {
      const { order } = JSON.parse(call.function.arguments);
      messages.push({ role: "tool", tool_call_id: call.id, content: `${order} is on its way` });
    }
  }
}

async function streamed(client, asked, file) {
  const stream = client.chat.completions.stream(asked);
  for await (const chunk of stream) fs.appendFileSync(file, JSON.stringify(chunk) + "\n");
  return await stream.finalChatCompletion();
}

const server = http.createServer(async (request, response) => {
  let body = "";
  for await (const piece of request) body += piece;
  const asked = JSON.parse(body);
  if (!conversations.has(asked.conversation)) {
    const file = path.join(process.env.SEEN, crypto.randomUUID());
    conversations.set(asked.conversation, { messages: [], file });
  }
  try {
    const client = new OpenAI(asked.model_url ? { baseURL: asked.model_url } : {});
    const said = await reply(conversations.get(asked.conversation), client, asked.message);
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ reply: said }));
  } catch (error) {
    response.writeHead(500, { "content-type": "text/plain" });
    response.end(String(error));
  }
});

server.listen(Number(process.argv[2]), "127.0.0.1", () => console.log("READY", server.address().port));
