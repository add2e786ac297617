// memory.mjs PROGRAM: documents, facts, episodes and procedures through the API.
import { unused } from './openapi.mjs';
import { check, equal, folder, run, Server, tertulia, test } from './support.mjs';

const server = await Server.start();
const api = '/api/v1/memory';
const ingest = (body, options = {}) => server.expect(200, 'POST', `${api}/documents?wait=true`, { body, ...options });
const search = async (query, more = {}) => (await server.expect(200, 'POST', `${api}/search`, { body: { query, ...more } })).items;
const hours = '# Opening hours\n\nThe shop opens at nine on weekdays.\n\n# Returns\n\nBring the receipt within thirty days.\n';

test('A document is ingested, found, listed, replaced and forgotten', async () => {
  const job = await ingest({ source: 'manual.md', text: hours, format: 'markdown', metadata: { lang: 'en' } });
  equal([job.status, job.changed, job.chunks_done === job.chunks, job.chunks > 0], ['done', true, true, true]);
  const [found] = await search('When does the shop open?');
  equal([found.kind, found.source, found.collection, found.metadata, found.writer], ['chunk', 'manual.md', 'user', { lang: 'en' }, 'user:local']);
  check(found.text.includes('nine') && found.score > 0 && found.score <= 1 && found.tokens > 0, JSON.stringify(found));
  const same = await ingest({ source: 'manual.md', text: hours, format: 'markdown', metadata: { lang: 'en' } });
  equal([same.status, same.changed], ['done', false]);
  const other = await ingest({ source: 'manual.md', text: hours.replace('nine', 'eleven'), format: 'markdown' });
  equal([other.changed, other.removed], [true, job.chunks]);
  check((await search('When does the shop open?'))[0].text.includes('eleven'), 'the new content is found');
  await ingest({ source: 'a.txt', text: 'Apples are red.' });
  const first = await server.expect(200, 'GET', `${api}/documents?limit=1`);
  equal([first.documents.map((one) => one.source), first.next], [['a.txt'], 'a.txt']);
  check(first.documents[0].tokens > 0 && first.documents[0].chunks > 0, JSON.stringify(first));
  const rest = await server.expect(200, 'GET', `${api}/documents?cursor=${first.next}`);
  equal([rest.documents.map((one) => [one.source, one.writer]), rest.next], [[['manual.md', 'user:local']], undefined]);
  equal((await server.expect(200, 'DELETE', `${api}/documents?source=manual.md`)).removed, other.chunks);
  equal((await server.expect(404, 'DELETE', `${api}/documents?source=manual.md`)).error.code, 'not_found');
  equal((await search('When does the shop open?')).filter((item) => item.source === 'manual.md'), []);
  equal((await server.expect(400, 'DELETE', `${api}/documents`)).error.code, 'missing_field');
});

test('Facts and items come page by page', async () => {
  const own = await Server.start();
  const said = ['I live in Porto', 'My dog is called Rex', 'I play the oboe', 'I work as a baker', 'I was born in May'];
  for (const text of said) await own.expect(201, 'POST', `${api}/facts`, { body: { text } });
  for (const [what, more] of [['facts', 'limit=2'], ['items', 'kind=fact&limit=2']]) {
    const pages = [];
    for (let cursor = ''; cursor !== undefined;) {
      const page = await own.expect(200, 'GET', `${api}/${what}?${more}${cursor && `&cursor=${cursor}`}`);
      pages.push(page[what].map((one) => one.text));
      cursor = page.next;
    }
    equal([pages.map((page) => page.length), pages.flat()], [[2, 2, 1], said], what);
  }
  equal((await own.expect(400, 'GET', `${api}/facts?limit=0`)).error.code, 'out_of_range');
});

test('Bytes come with their type: HTML without its scripts, a PDF by its pages', async () => {
  const html = '<html><script>secret()</script><body><h1>Ferry</h1><p>The ferry leaves from pier seven.</p></body></html>';
  const headers = { 'Content-Type': 'text/html; charset=utf-8' };
  await server.expect(200, 'POST', `${api}/documents?source=ferry.html&wait=true`, { body: html, headers });
  const [found] = await search('Where does the ferry leave from?');
  check(found.text.includes('pier seven') && !found.text.includes('secret'), found.text);
  const broken = await server.expect(200, 'POST', `${api}/documents?source=x.pdf&wait=true`, { body: 'no pdf', headers: { 'Content-Type': 'application/pdf' } });
  equal([broken.status, broken.error.code], ['failed', 'damaged']);
  equal((await server.expect(415, 'POST', `${api}/documents?source=x`, { body: 'x', headers: { 'Content-Type': 'image/png' } })).error.code, 'unsupported_media_type');
  equal((await server.expect(400, 'POST', `${api}/documents`, { body: 'x', headers: { 'Content-Type': 'text/plain' } })).error.code, 'missing_field');
  equal((await server.expect(400, 'POST', `${api}/documents`, { body: { source: 'x', text: 'y', title: 'z' } })).error.code, 'unknown_field');
});

test('A job is told as it goes on, listed, and the same for the same key', async () => {
  const headers = { 'Idempotency-Key': 'doc-1' };
  const body = { source: 'long.txt', text: 'The lighthouse keeper counts ships. '.repeat(20000) };
  const job = await server.expect(202, 'POST', `${api}/documents`, { body, headers });
  const frames = await (await server.stream('GET', `${api}/jobs/${job.id}/events`)).all();
  equal([frames.at(-2).event, frames.at(-1).event, frames.at(-1).data.status], ['progress', 'outcome', 'done']);
  const done = frames.map((frame) => frame.data.chunks_done);
  check(done.every((count, i) => i === 0 || count >= done[i - 1]), `progress goes forward: ${done}`);
  // Also long after the end.
  equal((await (await server.stream('GET', `${api}/jobs/${job.id}/events`)).all()).at(-1).event, 'outcome');
  equal((await server.expect(202, 'POST', `${api}/documents`, { body, headers })).id, job.id);
  equal((await server.expect(422, 'POST', `${api}/documents`, { body: { ...body, text: 'other' }, headers })).error.code, 'key_reuse');
  equal((await server.expect(200, 'GET', `${api}/jobs/${job.id}`)).status, 'done');
  equal((await server.expect(202, 'POST', `${api}/jobs/${job.id}/cancel`)).status, 'done');
  check((await server.expect(200, 'GET', `${api}/jobs?status=done`)).jobs.some((one) => one.id === job.id), 'it is listed');
  equal((await server.expect(200, 'GET', `${api}/jobs?status=running`)).jobs, []);
  equal((await server.expect(404, 'GET', `${api}/jobs/06gnf9d5z7s2w3r8k1m4q0t6y2`)).error.code, 'not_found');
  const streamed = await (await server.stream('POST', `${api}/documents`, { body: { source: 's.txt', text: 'Short.' } })).all();
  equal(streamed.at(-1).event, 'outcome');
});

test('Facts are told, found, replaced by what contradicts them, and forgotten', async () => {
  const told = await server.expect(201, 'POST', `${api}/facts`, { body: { text: 'I live in Madrid', valid_from: '2024-01-01T00:00:00Z' } });
  equal([told.known, told.fact.text, told.fact.writer], [false, 'I live in Madrid', 'user:local']);
  equal((await server.expect(200, 'POST', `${api}/facts`, { body: { text: 'I live in Madrid' } })).known, true);
  const moved = await server.expect(201, 'POST', `${api}/facts`, { body: { text: 'I live in Lisbon', valid_from: '2025-01-01T00:00:00Z' } });
  equal(moved.superseded, [told.fact.id]);
  const texts = async (query) => (await server.expect(200, 'GET', `${api}/facts${query}`)).facts.map((fact) => fact.text);
  equal(await texts(''), ['I live in Lisbon']);
  equal(await texts('?as_of=2024-06-01T00:00:00Z'), ['I live in Madrid']);
  equal((await texts('?all=true')).sort(), ['I live in Lisbon', 'I live in Madrid']);
  const closed = await server.expect(200, 'GET', `${api}/facts/${told.fact.id}`);
  equal([closed.superseded_by, closed.valid_until.slice(0, 10)], [moved.fact.id, '2025-01-01']);
  const entry = await server.expect(200, 'GET', `${api}/items/${moved.fact.id}`);
  equal([entry.kind, entry.text, entry.collection], ['fact', 'I live in Lisbon', 'user']);
  equal((await server.expect(404, 'GET', `${api}/items/${moved.fact.id}?collection=shared.nowhere`)).error.code, 'not_found');
  equal((await search('Where do I live?', { kinds: ['fact'] })).map((item) => item.text), ['I live in Lisbon']);
  equal((await search('Where do I live?', { kinds: ['fact'], as_of: '2024-06-01T00:00:00Z' })).map((item) => item.text), ['I live in Madrid']);
  equal((await server.expect(200, 'DELETE', `${api}/facts/${moved.fact.id}`)).removed, 1);
  equal((await server.expect(404, 'DELETE', `${api}/facts/${moved.fact.id}`)).error.code, 'not_found');
  equal((await server.expect(400, 'GET', `${api}/facts?as_of=yesterday`)).error.code, 'wrong_type');
  equal((await server.expect(400, 'POST', `${api}/search`, { body: { query: 'x', kinds: ['dream'] } })).error.code, 'out_of_range');
});

test('What a user told is shown to the agent, and to nobody else', async () => {
  await server.expect(201, 'POST', `${api}/facts`, { body: { text: 'My dog is called Rex' } });
  const shown = async (user) => {
    const headers = { 'Tertulia-User': user };
    const turn = await server.expect(200, 'POST', '/api/v1/turns', { body: { session: `dog-${user}`, message: 'What is my dog called?' }, headers });
    const { receipts } = await server.expect(200, 'GET', `/api/v1/sessions/dog-${user}/turns/${turn.turn}/receipts`, { headers });
    return receipts.some((receipt) => receipt.items.some((item) => item.tier === 'knowledge' && item.fate === 'kept'));
  };
  equal([await shown('local'), await shown('bea')], [true, false]);
  equal((await server.expect(200, 'GET', `${api}/facts`, { headers: { 'Tertulia-User': 'bea' } })).facts, []);
});

test('Items and neighbours', async () => {
  const text = Array.from({ length: 400 }, (_, i) => `Sentence ${i} speaks of station number ${i} on the long line.`).join(' ');
  await ingest({ source: 'line.txt', text });
  const items = (await server.expect(200, 'GET', `${api}/items?kind=chunk&source=line.txt`)).items;
  check(items.length > 3, 'there are several chunks');
  const page = await server.expect(200, 'GET', `${api}/items?kind=chunk&source=line.txt&limit=2`);
  const next = await server.expect(200, 'GET', `${api}/items?kind=chunk&source=line.txt&limit=2&cursor=${page.next}`);
  equal([...page.items, ...next.items].map((item) => item.id), items.slice(0, 4).map((item) => item.id));
  const [alone] = await search('station number 200', { top_k: 1 });
  const [wide] = await search('station number 200', { top_k: 1, neighbours: 1 });
  check(wide.text.length > alone.text.length && wide.text.includes(alone.text.slice(0, 40)), 'neighbours are joined');
});

test('Collections are kept apart', async () => {
  await ingest({ source: 'prices.txt', text: 'A coffee costs two euros.', collection: 'shared.shop' });
  await server.expect(201, 'POST', `${api}/facts`, { body: { text: 'Anna is patient', collection: 'agent.default' } });
  equal((await search('What does a coffee cost?')).filter((item) => item.source === 'prices.txt'), []);
  equal((await search('What does a coffee cost?', { collections: ['user', 'shared.shop'] }))[0].collection, 'shared.shop');
  const ids = (await server.expect(200, 'GET', `${api}/collections`)).collections.map((one) => one.id);
  equal(ids.sort(), ['agent.default', 'shared.shop', 'user']);
  equal((await server.expect(200, 'DELETE', `${api}/collections/agent.default`)).sessions, 1);
  equal((await server.expect(404, 'DELETE', `${api}/collections/agent.default`)).error.code, 'not_found');
  for (const bad of ['nobody', 'shared.', 'user/x', '~memory.user', 'other.x']) {
    equal((await server.expect(400, 'GET', `${api}/facts?collection=${encodeURIComponent(bad)}`)).error.code, 'bad_id', bad);
  }
});

test('Episodes are listed, read, found with what was said, and forgotten', async () => {
  for (const [session, message] of [['pets', 'My cat Luna sleeps on the piano.'], ['work', 'The budget meeting moved to Friday.']]) {
    await server.expect(200, 'POST', '/api/v1/turns', { body: { session, message } });
    await server.expect(200, 'POST', `/api/v1/sessions/${session}/close`);
  }
  const { episodes } = await server.expect(200, 'GET', `${api}/episodes`);
  equal(episodes.map((one) => one.session), ['work', 'pets']);
  check(episodes.every((one) => !('embedding' in one)), 'vectors stay inside');
  const page = await server.expect(200, 'GET', `${api}/episodes?limit=1`);
  equal((await server.expect(200, 'GET', `${api}/episodes?cursor=${page.next}`)).episodes.map((one) => one.session), ['pets']);
  equal((await server.expect(200, 'GET', `${api}/episodes?session=pets`)).episodes.length, 1);
  equal((await server.expect(200, 'GET', '/api/v1/sessions/pets/episodes')).episodes.length, 1);
  const one = await server.expect(200, 'GET', `${api}/episodes/${episodes[1].id}`);
  check(one.messages.some((message) => message.text.includes('Luna')), 'its messages');
  const found = (await server.expect(200, 'POST', `${api}/episodes/search`, { body: { query: 'Where does the cat Luna sleep?' } })).episodes;
  equal(found[0].episode.session, 'pets');
  check(found[0].quotes.some((quote) => quote.includes('piano')), JSON.stringify(found[0].quotes));
  equal((await server.expect(200, 'DELETE', `${api}/episodes/${episodes[1].id}`)).removed, 1);
  equal((await server.expect(404, 'GET', `${api}/episodes/${episodes[1].id}`)).error.code, 'not_found');
  await server.expect(200, 'GET', '/api/v1/sessions/pets/messages');
});

test('Procedures are added, approved and removed', async () => {
  const refund = { name: 'refund', description: 'Giving money back', trigger: 'refund|money back', steps: [{ instruction: 'Ask for the receipt.' }], approved: false };
  const made = await server.expect(201, 'POST', `${api}/procedures`, { body: refund });
  equal([made.approved, made.learned, made.writer], [false, false, 'operator:local']);
  const shown = async (session) => {
    const { turn } = await server.expect(200, 'POST', '/api/v1/turns', { body: { session, message: 'I want my money back' } });
    const { receipts } = await server.expect(200, 'GET', `/api/v1/sessions/${session}/turns/${turn}/receipts`);
    return receipts.some((receipt) => receipt.items.some((item) => item.tier === 'procedure'));
  };
  equal(await shown('before'), false);
  equal((await server.expect(200, 'POST', `${api}/procedures/refund/approve`)).approved, true);
  equal(await shown('after'), true);
  equal((await server.expect(200, 'GET', `${api}/procedures`)).procedures.map((one) => one.name), ['refund']);
  equal((await server.expect(200, 'GET', `${api}/procedures?agent=default`)).procedures, []);
  equal((await server.expect(400, 'POST', `${api}/procedures`, { body: { ...refund, trigger: '(' } })).error.code, 'out_of_range');
  equal((await server.expect(200, 'DELETE', `${api}/procedures/refund`)).removed, 1);
  equal((await server.expect(404, 'DELETE', `${api}/procedures/refund`)).error.code, 'not_found');
});

test('What others would be shown is written by admins only, and another tenant sees nothing', async () => {
  const data = folder();
  const key = (tenant, access, user) => JSON.parse(tertulia(data, '--json', '--tenant', tenant, 'keys', 'create', '--access', access, ...(user ? ['--user', user] : []))).key;
  const [ana, boss, foreign] = [key('acme', 'write', 'ana'), key('acme', 'admin'), key('globex', 'admin')];
  const own = await Server.start({ data, config: '[server]\nkey_required = true\n[memory]\nshared = ["shop"]\n' });
  const body = { source: 'secret.txt', text: 'The vault code is 4711.', collection: 'shared.shop' };
  equal((await own.expect(403, 'POST', `${api}/documents`, { body, key: ana })).error.code, 'not_permitted');
  equal((await own.expect(403, 'DELETE', `${api}/collections/shared.shop`, { key: ana })).error.code, 'not_permitted');
  const job = await own.expect(200, 'POST', `${api}/documents?wait=true`, { body, key: boss });
  const ask = (who) => own.expect(200, 'POST', `${api}/search`, { body: { query: 'vault code', collections: ['shared.shop'] }, key: who });
  equal([(await ask(ana)).items.length, (await ask(foreign)).items.length], [1, 0]);
  equal((await own.expect(404, 'GET', `${api}/jobs/${job.id}`, { key: foreign })).error.code, 'not_found');
  equal((await own.expect(404, 'GET', `${api}/jobs/${job.id}`, { key: ana })).error.code, 'not_found');
  // An agent recalls from what is shared.
  const turn = await own.expect(200, 'POST', '/api/v1/turns', { body: { session: 's', message: 'What is the vault code?' }, key: ana });
  const { receipts } = await own.expect(200, 'GET', `/api/v1/sessions/s/turns/${turn.turn}/receipts`, { key: ana });
  check(receipts[0].items.some((item) => item.tier === 'knowledge'), 'it was recalled');
});

test('Erasing a user erases what is remembered, and what is still being taken in', async () => {
  const headers = { 'Tertulia-User': 'carl' };
  await server.expect(201, 'POST', `${api}/facts`, { body: { text: 'I collect stamps' }, headers });
  for (let i = 0; i < 5; i += 1) {
    await server.expect(202, 'POST', `${api}/documents`, { body: { source: `${i}.txt`, text: `Stamp ${i} is blue. `.repeat(20000) }, headers });
  }
  const archive = await server.expect(200, 'GET', '/api/v1/users/carl/export', { headers });
  check(archive.includes('"~memory.user"'), 'an export has what is remembered');
  await server.expect(200, 'DELETE', '/api/v1/users/carl');
  equal((await server.expect(200, 'GET', `${api}/collections`, { headers })).collections.map((one) => one.id), ['shared.shop']);
  equal((await server.expect(200, 'GET', `${api}/jobs`, { headers })).jobs, []);
});

test('Killed in the middle of an ingestion, the server ends it after the next start', async () => {
  const own = await Server.start();
  const body = (i) => ({ source: `${i}.txt`, text: `Chapter ${i}. The whale ${i} swims north. `.repeat(30000) });
  const jobs = [];
  for (let i = 0; i < 3; i += 1) jobs.push(await own.expect(202, 'POST', `${api}/documents`, { body: body(i), headers: { 'Idempotency-Key': `k${i}` } }));
  await own.kill();
  const again = await Server.start({ data: own.data });
  for (const job of jobs) {
    const frames = await (await again.stream('GET', `${api}/jobs/${job.id}/events`)).all();
    equal([frames.at(-1).event, frames.at(-1).data.status], ['outcome', 'done']);
  }
  const { documents } = await again.expect(200, 'GET', `${api}/documents`);
  equal(documents.map((one) => one.source), ['0.txt', '1.txt', '2.txt']);
  equal((await again.expect(202, 'POST', `${api}/documents`, { body: body(1), headers: { 'Idempotency-Key': 'k1' } })).id, jobs[1].id);
  await again.stop();
  // What is stored is a sound store, with nothing left of the jobs' bytes to be ingested again.
  tertulia(own.data, 'verify');
});

test('A job that waits or runs can be cancelled, and leaves the collection as it was', async () => {
  const own = await Server.start();
  // It may have ended before anybody could cancel it: then another one is tried.
  for (let round = 0; ; round += 1) {
    check(round < 20, 'none of twenty could be cancelled');
    const collection = `shared.round${round}`;
    const jobs = [];
    for (let i = 0; i < 4; i += 1) jobs.push(await own.expect(202, 'POST', `${api}/documents`, { body: { source: `${i}`, text: `Word ${i} and more of it. `.repeat(40000), collection } }));
    await own.expect(202, 'POST', `${api}/jobs/${jobs[3].id}/cancel`);
    const ends = [];
    for (const job of jobs) ends.push((await (await own.stream('GET', `${api}/jobs/${job.id}/events`)).all()).at(-1).data.status);
    equal(ends.slice(0, 3), ['done', 'done', 'done']);
    const sources = (await own.expect(200, 'GET', `${api}/documents?collection=${collection}`)).documents.map((one) => one.source);
    equal(sources, ends[3] === 'cancelled' ? ['0', '1', '2'] : ['0', '1', '2', '3']);
    if (ends[3] === 'cancelled') return;
  }
});

test('Every operation of memory was used', () => equal(unused(/^\/api\/v1\/memory/), []));

await run();
