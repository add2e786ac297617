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

let thread = 0;
const run = (graph) => graph.invoke({ messages: [new HumanMessage('m'.repeat(200))] },
  { configurable: { thread_id: `t${thread++}` }, durability: 'sync' });
const print = (measure, value) => console.log(JSON.stringify({ rival: 'langgraph', measure, value, unit: '1/s' }));

async function rate(graph, atOnce, each) {
  const start = performance.now();
  await Promise.all(Array.from({ length: atOnce }, async () => {
    for (let i = 0; i < each; i++) await run(graph);
  }));
  return (atOnce * each) / ((performance.now() - start) / 1000);
}

for (const [name, graph] of Object.entries(graphs)) {
  await run(graph);
  print(`${name}_runs_per_second`, await rate(graph, 1, 20));
  print(`${name}_runs_per_second_64`, await rate(graph, 64, 2));
}
saver.db.close();
fs.rmSync(dir, { recursive: true, force: true });
