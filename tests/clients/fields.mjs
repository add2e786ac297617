// What bodies and events must hold, and that nothing in them is null without a reason.
import assert from 'node:assert/strict';

const response = [
  'id', 'object', 'created_at', 'completed_at', 'status', 'incomplete_details', 'model', 'previous_response_id',
  'instructions', 'output', 'error', 'tools', 'tool_choice', 'truncation', 'parallel_tool_calls', 'text', 'top_p',
  'presence_penalty', 'frequency_penalty', 'top_logprobs', 'temperature', 'reasoning', 'usage', 'max_output_tokens',
  'max_tool_calls', 'store', 'background', 'service_tier', 'metadata', 'safety_identifier', 'prompt_cache_key',
];
const mayBeNull = new Set([
  'completed_at', 'incomplete_details', 'previous_response_id', 'instructions', 'error', 'usage', 'max_output_tokens',
  'max_tool_calls', 'safety_identifier', 'prompt_cache_key',
]);

export function checkItem(item) {
  assert.ok(item.id && item.type && item.status, JSON.stringify(item));
  if (item.type === 'message' && item.role === 'assistant')
    for (const part of item.content) assert.deepEqual([part.annotations, part.logprobs], [[], []]);
  if (item.type === 'function_call') assert.ok(item.call_id && item.name && typeof item.arguments === 'string');
}

export function checkResponse(body) {
  for (const name of response) {
    assert.ok(name in body, `a response has ${name}`);
    if (!mayBeNull.has(name)) assert.notEqual(body[name], null, `${name} is not null`);
  }
  assert.equal(body.object, 'response');
  body.output.forEach(checkItem);
  if (body.status !== 'completed') return;
  assert.equal(typeof body.completed_at, 'number');
  assert.equal(typeof body.usage.input_tokens_details.cached_tokens, 'number');
  assert.equal(typeof body.usage.input_tokens_details.cache_write_tokens, 'number');
  assert.equal(typeof body.usage.output_tokens_details.reasoning_tokens, 'number');
}

// Numbers rise by one, items are opened before they are told of and closed once.
export function checkEvents(events, first = 0) {
  const open = new Map();
  events.forEach((event, index) => {
    assert.equal(event.sequence_number, first + index, event.type);
    if (event.response) checkResponse(event.response);
    if (event.type === 'response.output_item.added') open.set(event.item.id, event.output_index);
    if (event.item_id && first === 0) assert.equal(open.get(event.item_id), event.output_index);
    if (event.type === 'response.output_item.done') checkItem(event.item);
  });
  assert.match(events.at(-1).type, /^response\.(completed|incomplete|failed)$/);
}
