// run.mjs PROGRAM [MODULES]: the chat page in Chromium: how soon it is there, what it weighs, and what long conversations and fast
// answers cost. One JSON line a figure.
//
// Times are medians of several windows. Shares of the main thread are processor time, so that a busy machine does not count.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const tests = join(dirname(fileURLToPath(import.meta.url)), '../../tests/browser');
// Where the build has put what drives the browser (libs/tools/tests/mcp/npm_project.cmake).
const lock = createHash('sha256').update(readFileSync(join(tests, 'package-lock.json'))).digest('hex').slice(0, 12);
process.argv[3] ??= join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'tertulia/npm', `browser-${lock}`);
if (!existsSync(process.argv[3])) {
  console.error(`${process.argv[3]} is not there: configure a build once, with npm and a network.`);
  process.exit(1);
}
const { openBrowser, World } = await import(`${tests}/world.mjs`);
const { archiveOf, importArchive } = await import(`${tests}/archive.mjs`);
const { answered, live, open, say } = await import(`${tests}/page.mjs`);

const figure = (name, value, unit, goal = '', against = '') => console.log(JSON.stringify({ figure: name, value: Number(value.toFixed(2)), unit, goal, against }));
const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
const world = await World.begin();
const { base, model } = world;
const kRounds = 5;

const turns = (count) => Array.from({ length: count }, (_, number) => [`Question ${number}`, `Answer ${number}. ${'More words. '.repeat(number % 20)}`]);
await importArchive(base, archiveOf('short', 'Short', turns(50)));
await importArchive(base, archiveOf('long', 'Long', turns(5000)));

// Notes in the page itself when something is first there, so that the way to it does not count.
const noteWhen = (found) => `new Promise((done) => {
  const look = () => ((${found})() ? done(performance.now()) : requestAnimationFrame(look));
  look();
})`;
const browser = await openBrowser();
async function inWindow(work) {
  const { tab, context } = await browser.window();
  try {
    return await work(await tab());
  } finally {
    await context.close();
  }
}
const metricsOf = async (page) => {
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  return async () => ({ at: performance.now() / 1000, ...Object.fromEntries((await session.send('Performance.getMetrics')).metrics.map(({ name, value }) => [name, value])) });
};
const share = (before, after) => (100 * (after.TaskDuration - before.TaskDuration)) / (after.at - before.at);

// When something was first seen. One may be able to write before.
const firstPaint = () =>
  new Promise((done) => {
    new PerformanceObserver((list) => {
      const seen = list.getEntriesByName('first-contentful-paint')[0];
      if (seen) done(seen.startTime);
    }).observe({ type: 'paint', buffered: true });
  });

async function beginning() {
  const paint = [];
  const ready = [];
  let bytes = 0;
  for (let round = 0; round < kRounds; ++round) {
    await inWindow(async (page) => {
      let sum = 0;
      const sizes = [];
      page.on('requestfinished', (request) => request.url().endsWith('.js') && sizes.push(request.sizes().then((size) => (sum += size.responseBodySize))));
      await page.goto(base);
      ready.push(await page.evaluate(noteWhen(`() => document.activeElement?.matches('.composer textarea')`)));
      paint.push(await page.evaluate(firstPaint));
      await Promise.all(sizes);
      bytes = sum;
    });
  }
  figure('web: first paint', median(paint), 'ms', '< 1000');
  figure('web: ready to write in', median(ready), 'ms', '< 1500');
  figure('web: initial JavaScript, gzipped', bytes / 1000, 'KB', '<= 200');
  const widget = await fetch(`${base}/widget.js`, { headers: { 'Accept-Encoding': 'gzip' } });
  figure('web: the widget, gzipped', Number(widget.headers.get('content-length')) / 1000, 'KB', '< 60');
}

async function opening() {
  const times = { short: [], long: [] };
  for (let round = 0; round < kRounds; ++round) {
    for (const [session, last] of [['short', 'Answer 49.'], ['long', 'Answer 4999.']]) {
      await inWindow(async (page) => {
        await page.goto(`${base}/#/c/${session}`);
        times[session].push(await page.evaluate(noteWhen(`() => [...document.querySelectorAll('.answer')].some((one) => one.textContent.includes('${last}'))`)));
      });
    }
  }
  figure('web: opening 100 messages', median(times.short), 'ms');
  figure('web: opening 10,000 messages', median(times.long), 'ms');
  figure('web: opening 10,000 ÷ 100 messages', median(times.long) / median(times.short), '', '<= 2');
}

// Browsers keep processes at hand for pages to come; that of the page is the one that has just worked.
async function pageProcess(work) {
  const cdp = await browser.browser.newBrowserCDPSession();
  const renderers = async () => (await cdp.send('SystemInfo.getProcessInfo')).processInfo.filter(({ type }) => type === 'renderer');
  const before = new Map((await renderers()).map(({ id, cpuTime }) => [id, cpuTime]));
  await work();
  const worked = (await renderers()).map(({ id, cpuTime }) => ({ id, time: cpuTime - (before.get(id) ?? 0) }));
  return worked.toSorted((a, b) => b.time - a.time)[0].id;
}

// What a process has for itself, in MB: not the program and the fonts, which all share.
function ownMemory(pid) {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return ['RssAnon', 'RssShmem'].reduce((sum, name) => sum + Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? 0), 0) / 1024;
}

async function scrolling() {
  await inWindow(async (page) => {
    await open(page, base, '/#/c/long');
    await answered(page, 'Answer 4999.');
    const read = await metricsOf(page);
    await page.mouse.move(700, 400);
    await page.evaluate(() => {
      window.frames_ = [];
      let before = performance.now();
      const frame = (now) => (window.frames_.push(now - before), (before = now), requestAnimationFrame(frame));
      requestAnimationFrame(frame);
    });
    const before = await read();
    const pid = await pageProcess(async () => {
      for (let step = 0; step < 100; ++step) {
        await page.mouse.wheel(0, -600);
        await page.waitForTimeout(20);
      }
    });
    const after = await read();
    const frames = (await page.evaluate(() => window.frames_)).toSorted((a, b) => a - b);
    await page.locator('.thread').evaluate((thread) => (thread.scrollTop = 0));
    await page.getByText('Question 0', { exact: true }).waitFor();
    figure('web: 95 % of frames while scrolling within', frames[Math.floor(frames.length * 0.95)], 'ms', '', 'time of the clock: a busy machine counts');
    figure('web: main thread while scrolling', share(before, after), '%', '< 50');
    figure('web: heap with 10,000 messages', (await read()).JSHeapUsedSize / 1e6, 'MB');
    figure('web: tab memory with 10,000 messages', ownMemory(pid), 'MB', '< 200');
  });
}

async function streaming() {
  await inWindow(async (page) => {
    await open(page, base);
    const speech = model.speech().say('Begin ');
    await say(page, 'Talk');
    await live(page, 'Begin');
    const read = await metricsOf(page);
    const before = await read();
    const words = 600;
    for (let word = 0; word < words; ++word) {
      speech.say(word % 40 === 39 ? '\n\n' : `word${word} `);
      // By the clock, not by the sum of the pauses: those are longer than asked for.
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, (before.at + (word + 1) / 60) * 1000 - performance.now())));
    }
    const after = await read();
    speech.end();
    await answered(page, `word${words - 2}`);
    figure('web: words a second that were streamed', words / (after.at - before.at), '1/s');
    figure('web: main thread while they come', share(before, after), '%', '< 30');
  });
}

try {
  await beginning();
  await opening();
  await scrolling();
  await streaming();
} finally {
  await browser.close();
  await world.end();
}
