// LangGraph.js: a run of three agents, in a row and side by side, with its SQLite saver, durability "sync", FULL.
// langgraph_workflow.mjs DIRECTORY; prints lines like measure.mjs.
import { AIMessage, HumanMessage } from '@langchain/core/messages';
import { END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { SqliteSaver } from '@langchain/langgraph-checkpoint-sqlite';
import fs from 'node:fs';
import path from 'node:path';

const dir = fs.mkdtempSync(path.join(process.argv[2] ?? '.', 'langgraph-workflow-'));
const saver = SqliteSaver.fromConnString(path.join(dir, 'langgraph.db'));
saver.db.pragma('synchronous=FULL');
const answer = 'a'.repeat(400);
const say = (name) => () => ({ messages: [new AIMessage({ content: answer, name })] });
const nodes = () => new StateGraph(MessagesAnnotation).addNode('a', say('a')).addNode('b', say('b')).addNode('c', say('c'));
const graphs = {
  sequential: nodes().addEdge(START, 'a').addEdge('a', 'b').addEdge('b', 'c').addEdge('c', END).compile({ checkpointer: saver }),
  concurrent: nodes().addEdge(START, 'a').addEdge(START, 'b').addEdge(START, 'c')
    .addEdge('a', END).addEdge('b', END).addEdge('c', END).compile({ checkpointer: saver }),
};

let threads = 0;
const run = (graph, thread) => graph.invoke({ messages: [new HumanMessage('m'.repeat(200))] },
  { configurable: { thread_id: thread ?? `t${threads++}` }, durability: 'sync' });
const print = (measure, value) => console.log(JSON.stringify({ rival: 'langgraph', measure, value, unit: '1/s' }));

// Each of those that run at once has a thread of its own, if they are given; else each run begins one.
async function rate(graph, atOnce, each, conversations) {
  const start = performance.now();
  await Promise.all(Array.from({ length: atOnce }, async (_, place) => {
    for (let i = 0; i < each; i++) await run(graph, conversations?.[place]);
  }));
  return (atOnce * each) / ((performance.now() - start) / 1000);
}

// Threads in which 50 runs have taken place.
async function fill(name, graph) {
  const messages = [];
  for (let i = 0; i < 50; i++) {
    messages.push(new HumanMessage('m'.repeat(200)), ...['a', 'b', 'c'].map((author) => new AIMessage({ content: answer, name: author })));
  }
  const conversations = Array.from({ length: 64 }, (_, place) => `${name}-${place}`);
  for (const thread_id of conversations) await graph.updateState({ configurable: { thread_id } }, { messages }, 'c');
  return conversations;
}

for (const [name, graph] of Object.entries(graphs)) {
  // Warm: a first run costs its compiler more than the others together.
  for (let i = 0; i < 60; i++) await run(graph);
  print(`${name}_runs_per_second`, await rate(graph, 1, 60));
  print(`${name}_runs_per_second_64`, await rate(graph, 64, 3));
  const conversations = await fill(name, graph);
  print(`${name}_runs_per_second_in_a_conversation`, await rate(graph, 1, 20, conversations));
  print(`${name}_runs_per_second_in_a_conversation_64`, await rate(graph, 64, 1, conversations));
}
saver.db.close();
fs.rmSync(dir, { recursive: true, force: true });
