import assert from 'node:assert/strict';
import { kHostile } from '../../apps/web/tests/hostile.mjs';
import { archiveOf, importArchive } from './archive.mjs';
import { answered, open, say } from './page.mjs';

// What may stand in an answer. Anything else that a model's text has become is a hole.
const kElements = ['div', 'p', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'ul', 'ol', 'li', 'blockquote', 'table', 'thead', 'tbody', 'tr', 'th', 'td', 'strong', 'em', 's', 'hr', 'br', 'code', 'pre', 'a', 'span', 'figure', 'figcaption', 'button', 'svg', 'path'];

async function watched(context, base) {
  const strayed = [];
  const hits = [];
  await context.exposeFunction('__hit', (what) => hits.push(what));
  context.on('request', (request) => {
    if (!request.url().startsWith(`${base}/`) && !request.url().startsWith('blob:')) strayed.push(request.url());
  });
  context.on('dialog', (dialog) => (hits.push(dialog.message()), dialog.dismiss()));
  return { strayed, hits };
}

const problemsIn = (page, root) =>
  page.evaluate(
    ([allowed, selector]) => {
      const problems = [];
      for (const place of document.querySelectorAll(selector)) {
        for (const element of place.querySelectorAll('*')) {
          const math = element.namespaceURI.endsWith('MathML');
          if (!math && !allowed.includes(element.localName)) problems.push(`<${element.localName}>`);
          for (const { name, value } of element.attributes) {
            if (/^on|^(src|srcset|srcdoc|action|formaction|xlink:href|id|name)$/i.test(name)) problems.push(`${element.localName} ${name}`);
            if (name === 'href' && !/^(https?:|mailto:)/.test(element.href)) problems.push(`href ${value}`);
            if (name === 'style' && /url\(/.test(value)) problems.push(`style ${value}`);
          }
        }
      }
      return problems;
    },
    [kElements, root],
  );

export default {
  async 'hostile answers in the history do nothing, load nothing and go nowhere'({ base, window }) {
    // A tall window, so that few steps show everything.
    const { context, tab } = await window({ viewport: { width: 1280, height: 3000 } });
    const seen = await watched(context, base);
    // A store keeps UTF-8 only, so half a character cannot come from there; the unit tests have it.
    const texts = kHostile.filter(({ text }) => text.isWellFormed?.() ?? !/[\ud800-\udfff]/.test(text));
    await importArchive(base, archiveOf('hostile', 'Hostile', texts.map(({ name, text }) => [name.replaceAll('\u0000', ''), text.replaceAll('\u0000', '')])));
    const page = await tab();
    await open(page, base, '/#/c/hostile');
    await page.locator('.answer').first().waitFor();
    const names = new Set();
    // From the end to the beginning, a window at a time, until everything has been on the screen.
    await page.locator('.thread').focus();
    for (let steps = 0; names.size < texts.length; ++steps) {
      assert.ok(steps < 3000, `only ${names.size} of ${texts.length} were seen`);
      await page.waitForFunction(() => !document.querySelector('.thread .skeleton'));
      for (const name of await page.locator('.said .bubble').allInnerTexts()) names.add(name);
      assert.deepEqual(await problemsIn(page, '.answer .prose'), []);
      await page.evaluate(() => {
        const thread = document.querySelector('.thread');
        thread.scrollTop = Math.max(0, thread.scrollTop - thread.clientHeight * 0.9);
        return new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
      });
    }
    assert.deepEqual(seen, { strayed: [], hits: [] });
    assert.equal(new URL(page.url()).hash, '#/c/hostile');
    assert.equal(context.pages().length, 1);
  },

  async 'hostile text that is streamed, asked by a tool or typed does nothing either'({ base, model, window }) {
    const { context, tab } = await window();
    const seen = await watched(context, base);
    const page = await tab();
    const hostile = '<img src=x onerror=__hit(1)> [x](javascript:__hit(2)) ![y](https://evil.invalid/y.png) <script>__hit(3)</script>';
    model.plan({ calls: [{ name: 'calculator', arguments: { expression: hostile } }] }, hostile);
    await open(page, base);
    await say(page, hostile);
    await page.getByRole('button', { name: 'Allow once' }).click();
    await answered(page, '<script>__hit(3)</script>');
    await page.getByRole('region', { name: 'Tool calculator' }).getByRole('button').first().click();
    await page.locator('.tool-text').first().waitFor();
    assert.deepEqual(await problemsIn(page, '.answer .prose, .said .bubble, .tool-body, .head h1'), []);
    assert.deepEqual(seen, { strayed: [], hits: [] });
  },

  async 'what the server can do is described where programs look for it'({ base }) {
    const described = await fetch(`${base}/openapi.json`);
    assert.equal(described.headers.get('content-type'), 'application/json');
    const { openapi, paths } = await described.json();
    assert.equal(openapi, '3.1.0');
    assert.ok(paths['/api/v1/turns'].post);
  },

  async 'the page says what it may do, and stands in no frame'({ base }) {
    const { headers } = await fetch(base);
    const policy = headers.get('content-security-policy');
    for (const part of ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"]) assert.ok(policy.includes(part), part);
    assert.equal(headers.get('x-content-type-options'), 'nosniff');
  },
};
