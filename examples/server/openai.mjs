// openai.mjs [URL]: the openai package, with conversations that are kept. `npm install openai`
import OpenAI from 'openai';

const client = new OpenAI({ baseURL: `${process.argv[2] ?? 'http://127.0.0.1:8080'}/v1`, apiKey: process.env.TERTULIA_API_KEY ?? 'none' });

// A chat completion in a session: only what is new is sent.
const session = { headers: { 'Tertulia-Session': 'from-node' } };
const say = (content) => client.chat.completions.create({ model: 'default', messages: [{ role: 'user', content }] }, session);
console.log((await say('Add 10 and 20')).choices[0].message.content);

// Responses are a tree: two answers to one are two branches.
const first = await client.responses.create({ model: 'default', input: 'Add 1 and 1' });
const ways = ['Add 2 and 2', 'Add 3 and 3'].map((input) => client.responses.create({ model: 'default', input, previous_response_id: first.id }));
for (const way of await Promise.all(ways)) console.log(way.output_text);

// Streamed, and read again from the middle, also after the server was killed.
const seen = [];
for await (const event of await client.responses.create({ model: 'default', input: 'Add 4 and 4', stream: true })) seen.push(event);
const { response } = seen.at(-1);
const rest = await client.responses.retrieve(response.id, { stream: true, starting_after: seen[4].sequence_number });
for await (const event of rest) if (event.type === 'response.completed') console.log(event.response.output.at(-1).content[0].text);
