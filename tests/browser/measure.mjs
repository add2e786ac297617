// measure.mjs PROGRAM MODULES: the figures of the page. Not a test: a machine that does other things gives other numbers.
import { archiveOf, importArchive } from './archive.mjs';
import { answered, live, open, say } from './page.mjs';
import { openBrowser, World } from './world.mjs';

const world = await World.begin();
const { base, model } = world;
const browser = await openBrowser();
const turns = (count) => Array.from({ length: count }, (_, number) => [`Question ${number}`, `Answer ${number}. ${'More words. '.repeat(number % 20)}`]);
await importArchive(base, archiveOf('short', 'Short', turns(50)));
await importArchive(base, archiveOf('long', 'Long', turns(5000)));
const show = (name, value, unit) => console.log(`${name.padEnd(52)} ${typeof value === 'number' ? value.toFixed(1).padStart(9) : value} ${unit}`);

const fresh = async () => (await browser.window()).tab();
const metrics = async (page) => {
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable');
  return async () => Object.fromEntries((await session.send('Performance.getMetrics')).metrics.map(({ name, value }) => [name, value]));
};

{
  const page = await fresh();
  let bytes = 0;
  page.on('response', async (response) => {
    if (response.url().endsWith('.js')) bytes += (await response.request().sizes()).responseBodySize;
  });
  await open(page, base);
  await page.locator('.composer textarea:focus').waitFor();
  const { paint, ready } = await page.evaluate(() => ({
    paint: performance.getEntriesByName('first-contentful-paint')[0]?.startTime,
    ready: performance.now(),
  }));
  show('first paint', paint, 'ms');
  show('ready to write in, seen from outside', ready, 'ms');
  show('initial JavaScript, as sent', bytes / 1000, 'KB');
}

async function opening(session, last) {
  const times = [];
  for (let round = 0; round < 3; ++round) {
    const page = await fresh();
    await page.goto(`${base}/#/c/${session}`);
    await page.getByText(last, { exact: false }).first().waitFor();
    times.push(await page.evaluate(() => performance.now()));
    await page.context().close();
  }
  return Math.min(...times);
}
show('opening 100 messages', await opening('short', 'Answer 49.'), 'ms');
show('opening 10,000 messages', await opening('long', 'Answer 4999.'), 'ms');

{
  const page = await fresh();
  await open(page, base, '/#/c/long');
  await answered(page, 'Answer 4999.');
  const read = await metrics(page);
  const before = await read();
  // Two seconds of turning the wheel.
  await page.mouse.move(700, 400);
  for (let step = 0; step < 100; ++step) {
    await page.mouse.wheel(0, -600);
    await page.waitForTimeout(20);
  }
  const after = await read();
  show('heap with 10,000 messages, scrolled through', after.JSHeapUsedSize / 1e6, 'MB');
  show('main thread while scrolling', (100 * (after.TaskDuration - before.TaskDuration)) / (after.Timestamp - before.Timestamp), '%');
}

{
  const page = await fresh();
  await open(page, base);
  const speech = model.speech().say('Begin ');
  await say(page, 'Talk');
  await live(page, 'Begin');
  const read = await metrics(page);
  const before = await read();
  for (let word = 0; word < 600; ++word) {
    speech.say(word % 40 === 39 ? '\n\n' : `word${word} `);
    await new Promise((resolve) => setTimeout(resolve, 1000 / 60));
  }
  const after = await read();
  speech.end();
  await answered(page, 'word598');
  show('main thread while 60 words a second are streamed', (100 * (after.TaskDuration - before.TaskDuration)) / (after.Timestamp - before.Timestamp), '%');
  show('of which scripts', (100 * (after.ScriptDuration - before.ScriptDuration)) / (after.Timestamp - before.Timestamp), '%');
}
await browser.close();
await world.end();
