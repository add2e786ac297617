// run.mjs PROGRAM MODULES [PART]: the page in a real browser, against the real program. Each file *.test.mjs has the tests of one
// part; a test has a server, a model and a window of its own, and all share one browser.
import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { kChromium, openBrowser, World } from './world.mjs';

if (!existsSync(kChromium)) {
  console.error(`There is no browser at ${kChromium}. Install it (apt install chromium-headless-shell), or say where one is: TERTULIA_CHROMIUM.`);
  process.exit(1);
}
const here = dirname(fileURLToPath(import.meta.url));
const wanted = process.argv[4];
const files = readdirSync(here).filter((name) => name.endsWith('.test.mjs') && (!wanted || name.startsWith(wanted)));
const only = process.argv[5];
const browser = await openBrowser();
let passed = 0;
let failed = 0;
for (const file of files.sort()) {
  const { default: tests, settings } = await import(`./${file}`);
  for (const [name, test] of Object.entries(tests)) {
    if (only && !name.includes(only)) continue;
    const began = Date.now();
    const windows = [];
    let world;
    try {
      world = await World.begin({ settings: settings?.[name] ?? '' });
      const window = async (options) => {
        const made = await browser.window(options);
        windows.push(made);
        return made;
      };
      await test({ world, model: world.model, base: world.base, window });
      const problems = windows.flatMap((made) => made.problems);
      if (problems.length) throw new Error(problems.join('\n'));
      passed += 1;
      console.log(`ok    ${name} (${((Date.now() - began) / 1000).toFixed(1)} s)`);
    } catch (problem) {
      failed += 1;
      const others = windows.flatMap((made) => made.problems).join('\n');
      console.log(`FAIL  ${name}\n${problem.stack ?? problem}\n${others}\n${world?.said?.slice(-2000) ?? ''}`);
      for (const made of windows) {
        for (const page of made.context.pages()) {
          const picture = join(process.env.TMPDIR ?? '/tmp', `tertulia-${name.replace(/\W+/g, '-')}.png`);
          await page.screenshot({ path: picture }).then(() => console.log(`      ${picture}`), () => {});
        }
      }
    } finally {
      await Promise.all(windows.map((made) => made.context.close().catch(() => {})));
      await world?.end();
    }
  }
}
await browser.close();
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
