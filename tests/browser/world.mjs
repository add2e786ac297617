// What a test of the page needs: the real program on a port of its own, a model, and a browser.
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Model } from './model.mjs';

// npm_modules: the folder that holds node_modules.
export const [program, npmModules] = process.argv.slice(2);
const require = createRequire(join(npmModules, 'package.json'));
const { chromium } = require('playwright-core');
export const axeSource = () => require('axe-core').source;

// Chromium without what shows windows to people: half of the work for the same pages.
export const kChromium = process.env.TERTULIA_CHROMIUM ?? '/usr/bin/chromium-headless-shell';
// Long, because a machine may be busy; nothing waits that long unless it fails.
const kPatience = 60_000;

export class World {
  folder = mkdtempSync(join(tmpdir(), 'tertulia-browser-'));

  static async begin({ settings = '' } = {}) {
    const world = new World();
    world.model = await new Model().listen();
    // For a page of another origin.
    world.hostPort = await freePort();
    world.settings = typeof settings === 'function' ? settings(world) : settings;
    world.port = await freePort();
    world.base = `http://127.0.0.1:${world.port}`;
    await world.start();
    return world;
  }

  async start() {
    const config = join(this.folder, 'tertulia.toml');
    writeFileSync(
      config,
      `[model]\nname = "test"\n\n[models.test]\nprovider = "openai-compatible"\nmodel = "test"\nbase_url = "${this.model.address}"\n\n` +
        `[agents.default]\nname = "Companion"\nmodel = "test"\npermissions = { read_only = "ask" }\n\n${this.settings}`,
    );
    const environment = { PATH: process.env.PATH, HOME: this.folder, LC_ALL: 'C.UTF-8' };
    for (const name of Object.keys(process.env)) if (/^(ASAN|UBSAN|TSAN|LSAN)_/.test(name)) environment[name] = process.env[name];
    this.process = spawn(program, ['--config', config, '--data', join(this.folder, 'data'), '--json', 'serve', '--port', String(this.port)], {
      env: environment,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.said = '';
    this.process.stderr.on('data', (bytes) => (this.said = (this.said + bytes).slice(-20_000)));
    this.ended = new Promise((resolve) => this.process.once('exit', resolve));
    await new Promise((resolve, reject) => {
      this.process.stdout.on('data', (bytes) => String(bytes).includes('listening') && resolve());
      this.ended.then((code) => reject(new Error(`the server ended with ${code}:\n${this.said}`)));
    });
  }

  // Another command of the program on the same data; what it prints, as JSON.
  run(...command) {
    const where = ['--config', join(this.folder, 'tertulia.toml'), '--data', join(this.folder, 'data'), '--json'];
    const { status, stdout, stderr } = spawnSync(program, [...where, ...command], { env: { PATH: process.env.PATH, HOME: this.folder }, encoding: 'utf8' });
    if (status !== 0) throw new Error(`${command.join(' ')} ended with ${status}: ${stderr}`);
    return JSON.parse(stdout);
  }

  // As a power cut would.
  async kill() {
    this.process.kill('SIGKILL');
    await this.ended;
  }

  async end() {
    this.process.kill('SIGKILL');
    await this.ended;
    this.model.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

export async function openBrowser() {
  const browser = await chromium.launch({
    executablePath: kChromium,
    // A container has no namespaces to shut the browser off with; it sees nothing but this machine.
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--force-color-profile=srgb'],
  });
  return {
    browser,
    // A window of its own: nothing that another one keeps is in it.
    async window(options = {}) {
      const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: 'reduce', ...options });
      context.setDefaultTimeout(kPatience);
      context.setDefaultNavigationTimeout(kPatience);
      const problems = [];
      context.on('weberror', (error) => problems.push(`error in the page: ${error.error().stack ?? error.error().message}`));
      return { context, problems, tab: () => context.newPage() };
    },
    close: () => browser.close(),
  };
}

function freePort() {
  return new Promise((resolve) => {
    const server = createServer();
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}
