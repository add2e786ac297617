// The OpenAPI document, as the tests hold the server to it.
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const file = join(dirname(fileURLToPath(import.meta.url)), '../../docs/api/openapi.json');
export const document = JSON.parse(readFileSync(file, 'utf8'));

export const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({
    method: method.toUpperCase(),
    path,
    operation,
    pattern: new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}$`),
  })),
);

// The operation that a path belongs to: one without parameters comes before one with.
export function operationOf(method, path) {
  const plain = path.split('?')[0];
  const found = operations.filter((one) => one.method === method && one.pattern.test(plain));
  return found.sort((one, two) => one.path.split('{').length - two.path.split('{').length)[0];
}

const typeOf = (value) =>
  value === null ? 'null' : Array.isArray(value) ? 'array' : Number.isInteger(value) ? 'integer' : typeof value;

// What is wrong with a value, or null.
export function problemIn(value, schema, at = 'body') {
  if (schema.$ref) return problemIn(value, document.components.schemas[schema.$ref.split('/').at(-1)], at);
  if (schema.oneOf) return schema.oneOf.some((one) => !problemIn(value, one, at)) ? null : `${at} fits nothing`;
  const type = typeOf(value);
  if (schema.type && schema.type !== type && !(schema.type === 'number' && type === 'integer')) return `${at} is ${type}, not ${schema.type}`;
  if (schema.enum && !schema.enum.includes(value)) return `${at} is ${value}`;
  if (type === 'array' && schema.items) {
    for (const [i, item] of value.entries()) {
      const problem = problemIn(item, schema.items, `${at}[${i}]`);
      if (problem) return problem;
    }
  }
  if (type !== 'object') return null;
  for (const name of schema.required ?? []) if (!(name in value)) return `${at}.${name} is missing`;
  for (const [name, member] of Object.entries(value)) {
    const known = schema.properties?.[name];
    if (!known && schema.additionalProperties === false) return `${at}.${name} is not documented`;
    const problem = known && problemIn(member, known, `${at}.${name}`);
    if (problem) return problem;
  }
  return null;
}

// Which operations were seen to succeed.
export const seen = new Set();

// Those that no test of this process has used, among the paths that fit.
export const unused = (paths) =>
  operations.filter(({ path }) => paths.test(path)).map(({ method, path }) => `${method} ${path}`).filter((name) => !seen.has(name));

// The protocols of other people's clients have documents of their own.
export const isOfOthers = (path) => /^\/(v1\/|api\/v1\/(ui\/|ag-ui$))/.test(path);

// Holds an answer to what the document says of it.
export function holdTo(method, path, reply) {
  // What a browser asks before it lets a page call.
  if (method === 'OPTIONS') return null;
  if (isOfOthers(path)) return null;
  const found = operationOf(method, path);
  if (!found) return reply.status >= 400 ? null : 'there is no such operation in the document';
  const documented = found.operation.responses[reply.status];
  if (reply.status < 400) {
    if (!documented) return `status ${reply.status} is not documented`;
    seen.add(`${found.method} ${found.path}`);
  }
  const content = (documented ?? found.operation.responses.default).content['application/json'];
  if (!content || reply.json === undefined) return null;
  return problemIn(reply.json, content.schema);
}
