// LangGraph.js with its SQLite saver. A turn is one run of a graph that calls a tool and answers, with nodes that know
// what to say; durability "sync". The saver opens its database with synchronous NORMAL: FULL is set here, as elsewhere.
import { AIMessage, HumanMessage, ToolMessage } from '@langchain/core/messages';
import { END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { SqliteSaver } from '@langchain/langgraph-checkpoint-sqlite';
import path from 'node:path';
import { measure, turnOf } from './measure.mjs';

const ask = (n) => new HumanMessage(turnOf(n).user);
const call = (n) => new AIMessage({ content: '', tool_calls: [{ id: turnOf(n).call, name: 'search', args: turnOf(n).input }] });
const result = (n) => new ToolMessage({ content: JSON.stringify(turnOf(n).output), tool_call_id: turnOf(n).call, name: 'search' });
const answer = (n) => new AIMessage(turnOf(n).answer);

await measure({
  name: 'langgraph',
  async open(dir) {
    const saver = SqliteSaver.fromConnString(path.join(dir, 'langgraph.db'));
    saver.db.pragma('synchronous=FULL');
    const say = (make) => (state, config) => ({ messages: [make(config.configurable.turn)] });
    const graph = new StateGraph(MessagesAnnotation)
      .addNode('call', say(call)).addNode('tool', say(result)).addNode('answer', say(answer))
      .addEdge(START, 'call').addEdge('call', 'tool').addEdge('tool', 'answer').addEdge('answer', END)
      .compile({ checkpointer: saver });
    const config = (id, turn) => ({ configurable: { thread_id: id, turn }, durability: 'sync' });
    return {
      session: async (id) => id,
      turn: (id, n) => graph.invoke({ messages: [ask(n)] }, config(id, n)),
      async fill(id, count) {
        const messages = Array.from({ length: count }, (_, n) => [ask(n), call(n), result(n), answer(n)]).flat();
        await graph.updateState(config(id), { messages }, 'answer');
      },
      load: async (id) => (await graph.getState(config(id))).values.messages,
      // From a checkpoint of the past, which is how it forks: the new one holds the whole state again.
      async fork(id) {
        const { config: past } = await graph.getState(config(id));
        await graph.updateState(past, { messages: [ask(1)] }, 'answer');
      },
      settle: async () => saver.db.pragma('wal_checkpoint(TRUNCATE)'),
      close: async () => saver.db.close(),
    };
  },
});
