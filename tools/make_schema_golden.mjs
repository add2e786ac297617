// Writes generated schemas, values, and whether npm ajv finds each value valid, for JsonSchemaSuite:
//
//   npm install --prefix /tmp/ajv ajv@8.20.0
//   node tools/make_schema_golden.mjs /tmp/ajv/node_modules/ajv 300 1 > libs/tools/tests/data/schema_golden.jsonl
//
// Arguments: the package, how many schemas, a seed. A line is {"schema":…,"valid":[…],"invalid":[…]}. A longer file is
// compared with TERTULIA_SCHEMA_GOLDEN=<file> build/dev/bin/tools_tests --gtest_filter='JsonSchemaSuite.*'.
import path from 'node:path';
import {createRequire} from 'node:module';

const [packageDir, countText = '300', seedText = '1'] = process.argv.slice(2);
const require = createRequire(import.meta.url);
const Ajv = require(path.resolve(packageDir, 'dist/2020.js')).default;

let state = BigInt(seedText) * 0x9e3779b97f4a7c15n | 1n;
const random = (n) => {
  state = state * 6364136223846793005n + 1442695040888963407n & 0xffffffffffffffffn;
  return Number(state >> 33n) % n;
};
const pick = (list) => list[random(list.length)];
const list = (most, make) => Array.from({length: random(most + 1)}, make);
const chance = (n) => random(n) === 0;

const names = ['a', 'b', 'c', 'ab', 'é/x', 'a~b'];
const numbers = [0, 1, 2, 3, -1, -2, 1.5, 0.3, 2.0, 1e3, 10, -0.1];
const texts = ['', 'a', 'ab', 'abc', 'é€', '😀', 'x1', '12', 'a\nb'];
const patterns = ['^a', 'b$', '[0-9]+', '^.{2}$', 'a|x', '^(ab?)*$'];
const types = ['null', 'boolean', 'integer', 'number', 'string', 'array', 'object'];

function value(depth) {
  const kind = random(depth > 0 ? 8 : 5);
  if (kind === 0) return pick([null, true, false]);
  if (kind <= 2) return pick(numbers);
  if (kind <= 4) return pick(texts);
  if (kind === 5) return list(4, () => value(depth - 1));
  return Object.fromEntries(list(4, () => [pick(names), value(depth - 1)]));
}

const distinct = (values) => [...new Map(values.map((one) => [JSON.stringify(one), one])).values()];

// Each makes one keyword, or two that belong together.
const keywords = [
  () => ({type: pick(types)}),
  () => ({type: distinct([pick(types), pick(types), pick(types)])}),
  () => ({enum: distinct([value(1), value(1), value(1)])}),
  () => ({const: value(1)}),
  () => ({minimum: pick(numbers)}),
  () => ({maximum: pick(numbers)}),
  () => ({exclusiveMinimum: pick(numbers)}),
  () => ({exclusiveMaximum: pick(numbers)}),
  () => ({multipleOf: pick([1, 2, 0.5, 3])}),
  () => ({minLength: random(4)}),
  () => ({maxLength: random(4)}),
  () => ({pattern: pick(patterns)}),
  () => ({minItems: random(3)}),
  () => ({maxItems: random(4)}),
  () => ({uniqueItems: true}),
  () => ({minProperties: random(3)}),
  () => ({maxProperties: random(4)}),
  () => ({required: distinct(list(2, () => pick(names)))}),
  (depth) => ({properties: Object.fromEntries(list(3, () => [pick(names), schema(depth - 1)]))}),
  (depth) => ({patternProperties: Object.fromEntries(list(2, () => [pick(patterns), schema(depth - 1)]))}),
  (depth) => ({additionalProperties: schema(depth - 1)}),
  (depth) => ({items: schema(depth - 1)}),
  (depth) => ({prefixItems: [schema(depth - 1), ...list(2, () => schema(depth - 1))]}),
  (depth) => ({anyOf: [schema(depth - 1), ...list(2, () => schema(depth - 1))]}),
  (depth) => ({oneOf: [schema(depth - 1), ...list(2, () => schema(depth - 1))]}),
  (depth) => ({allOf: [schema(depth - 1), ...list(1, () => schema(depth - 1))]}),
  (depth) => ({not: schema(depth - 1)}),
  () => ({$ref: pick(['#/$defs/leaf', '#/$defs/tree'])}),
];

function schema(depth) {
  if (chance(12)) return chance(3) ? false : true;
  const known = depth > 0 ? keywords : keywords.slice(0, 18);
  return Object.assign({}, ...list(3, () => pick(known)(depth)));
}

const definitions = () => ({
  leaf: {type: pick(types)},
  tree: {type: pick([['object', 'null'], ['object', 'string']]), properties: {a: {$ref: '#/$defs/tree'}}},
});

for (let written = 0; written < Number(countText);) {
  const whole = schema(3);
  if (typeof whole !== 'object') continue;
  if (JSON.stringify(whole).includes('$ref')) whole.$defs = definitions();
  const validate = new Ajv({strict: false, unevaluated: false, unicodeRegExp: true, logger: false}).compile(whole);
  const sorted = {schema: whole, valid: [], invalid: []};
  for (const one of distinct(Array.from({length: 8}, () => value(3)))) sorted[validate(one) ? 'valid' : 'invalid'].push(one);
  if (sorted.valid.length === 0 && !chance(4)) continue;
  console.log(JSON.stringify(sorted));
  written += 1;
}
