// run.mjs PROGRAM [NAME]: the chat as a person meets it, in terminals of its own.
//
// Each state is compared with a text capture in captures/NAME.txt; run with UPDATE=1 to write them anew, and look at
// what changed. Durations and times of day are made equal first.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startModel } from './model.mjs';
import { Screen } from './screen.mjs';

const program = resolve(process.argv[2]);
const only = process.argv[3];
const captures = join(dirname(fileURLToPath(import.meta.url)), 'captures');

const markdown = `# Porto in two days

You will **walk** a lot; take \`good shoes\` and see [the map](https://example.com/map).

- the *Ribeira*
- a cellar on the other side
  - by boat

1. first
2. second

\`\`\`python
def days(n):
    return n + 1
\`\`\`

| day | where |
|---|---|
| 1 | Ribeira |
| 2 | Foz, and back along the river |

> Nothing is far.

That is all.`;

const replies = {
  'Plan my trip': { first: [{ text: markdown.match(/[^]{1,7}/g) }] },
  'Write it down': {
    first: [{ text: ['I will write it down.'] }, { call: ['write_file', { path: 'plan.txt', content: 'Porto\nRibeira' }] }],
    then: [{ text: ['It is written down.'] }],
  },
  'Write and count': {
    first: [{ call: ['calculator', { expression: '2 * 21' }] }, { call: ['write_file', { path: 'no.txt', content: 'x' }] }],
    then: [{ text: ['One of two was done.'] }],
  },
  'Book a table': { first: [{ call: ['desk__book', {}] }], then: [{ text: ['It is booked.'] }] },
  'Write a lot': {
    first: [{ call: ['write_file', { path: 'long.txt', content: [...Array(40).keys()].map((i) => `line ${i + 1}`).join('\n') }] }],
    then: [{ text: ['It is long.'] }],
  },
  'Book and wait': { first: [{ call: ['desk__book', {}] }], then: [{ hold: 'the end' }, { text: ['It is not booked.'] }] },
  'Tell a story': { first: [{ text: ['Once upon', ' a time'] }, { hold: 'the story' }, { text: [' it ended.'] }] },
  'Hear me': { first: [{ fail: 401, until: 'mended' }, { text: ['I hear you.'] }] },
  'Count slowly': { first: [{ call: ['run_program', { program: 'sleep', arguments: ['3600'] }] }], then: [{ text: ['It is over.'] }] },
};

// What differs from run to run, made equal.
const steady = (text) => text
  .replace(/\d+ ms|\d+\.\d s|\d+ min \d+ s/g, 'N ms')
  .replace(/[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/g, '⠋')
  .replace(/tertulia \d+\.\d+\.\d+/g, 'tertulia N')
  .replace(/[\d,]+ of [\d,]+ ?tokens/g, 'N of N tokens')
  .replace(/(?<=\S) ─+$/gm, ' ──')
  // Calls of a batch end in any order.
  .replace(/(?:^ {2}[✓⊘✗] .*\n){2,}/gm, (lines) => `${lines.trimEnd().split('\n').sort().join('\n')}\n`);

class World {
  // The process that holds the data, as its lock says.
  holder() {
    return Number(readFileSync(join(this.home, 'data/tertulia.lock'), 'utf8').match(/\d+/)[0]);
  }

  constructor(model) {
    this.model = model;
    this.home = mkdtempSync(join(tmpdir(), 'tertulia-chat-'));
    mkdirSync(join(this.home, 'work'));
    writeFileSync(join(this.home, 'config.toml'), `data = "data"
[models.local]
provider = "openai-compatible"
model = "test"
base_url = "${model.url}"
[models.other]
provider = "openai-compatible"
model = "other-1"
takes = "images"
base_url = "${model.url}/other"
[tools.files]
root = "work"
[tools.process]
root = "work"
programs = ["/usr/bin/sleep"]
[agents.default]
model = "local"
tools = ["calculator", "files", "process"]
permissions = { tools = { run_program = "allow" } }
[agents.asking]
model = "local"
tools = ["mcp.desk"]
permissions = { unsafe = "allow" }
[mcp.desk]
command = "${process.execPath}"
args = ["${resolve(dirname(fileURLToPath(import.meta.url)), '../support/asking_mcp_server.mjs')}"]
`);
    this.screens = [];
  }
  chat(words = [], options = {}) {
    const screen = new Screen([program, '--config', join(this.home, 'config.toml'), 'chat', ...words],
      { ...options, env: { HOME: this.home, ...options.env } });
    this.screens.push(screen);
    return screen;
  }
  // Without a terminal.
  pipe(words, input = '') {
    return new Promise((done) => {
      const child = spawn(program, ['--config', join(this.home, 'config.toml'), ...words], { env: { PATH: process.env.PATH, HOME: this.home } });
      const got = { out: '', err: '' };
      child.stdout.on('data', (chunk) => { got.out += chunk; });
      child.stderr.on('data', (chunk) => { got.err += chunk; });
      child.on('close', (code) => done({ ...got, code }));
      child.stdin.end(input);
    });
  }
  end() {
    for (const screen of this.screens) screen.close();
    rmSync(this.home, { recursive: true, force: true });
  }
}

const differences = [];
function compare(name, text) {
  const file = join(captures, `${name}.txt`);
  const now = `${steady(text)}\n`;
  if (process.env.UPDATE) {
    mkdirSync(captures, { recursive: true });
    writeFileSync(file, now);
    return;
  }
  const before = existsSync(file) ? readFileSync(file, 'utf8') : '';
  if (before !== now) differences.push(`captures/${name}.txt is not what the screen shows:\n${now}`);
}

const ready = /\n── [^\n]*─\n›$/;     // an answer has ended, and the next message can be written
const said = (text) => (screen) => screen.includes(text) && ready.test(screen);

const stories = {
  async a_chat_greets_streams_and_leaves(world) {
    const chat = world.chat(['--session', 'trip'], { columns: 80, rows: 40 });
    compare('greeting', await chat.until(/\n›$/));
    chat.say('Plan my trip');
    compare('streaming_finished', await chat.until(said('That is all.')));
    assert.match(chat.colours(), /\x1b\[1m\w*walk/, 'bold text is bold');
    chat.say('/help');
    compare('help', (await chat.until(/\/undo[^]*\n›$/)).split('› /help\n')[1]);
    chat.key('C-d');
    await chat.until('[exit 0]');
  },

  async text_is_shown_before_it_is_finished_and_ctrl_c_keeps_it(world) {
    const chat = world.chat(['--session', 'story']);
    await chat.until(/\n›$/);
    chat.say('Tell a story');
    compare('streaming', await chat.until('Once upon a time'));
    chat.resize(60, 20);
    chat.key('C-c');
    compare('stopped', (await chat.until(said('(stopped'))).split('› Tell a story\n')[1]);
    chat.resize(100, 24);
    chat.say('/branches');
    await chat.until(/2 messages[^]*\n›$/);
    chat.key('C-c');
    await chat.until(/Ctrl-C again[^]*\n›$/);
    chat.key('C-c');
    await chat.until('[exit 0]');
  },

  async ctrl_c_drops_what_is_written_wherever_one_stands_in_it_and_leaves_only_twice_in_a_row(world) {
    const chat = world.chat(['--session', 'dropped']);
    await chat.until(/\n›$/);
    chat.say('once upon');
    await chat.until(said('You said: once upon'));
    chat.key('C-c');
    await chat.until(/Ctrl-C again[^]*\n›$/);
    chat.type('first');
    chat.key('M-Enter');
    chat.type('second');
    chat.key('C-a');
    await chat.until(/\n› first\nsecond$/);
    chat.key('C-c');
    await chat.until(/\n› first\nsecond\nCtrl-C again[^]*\n›$/);
    chat.key('C-r');                     // a search is ended by it, too
    chat.type('upon');
    await chat.until(/\n› once upon\nbck:upon$/);
    chat.key('C-c');
    await chat.until(/\n› once upon\nCtrl-C again[^]*\n›$/);
    chat.key('C-c');
    await chat.until('[exit 0]');
  },

  // Else what is typed in that moment is shown twice.
  async the_terminal_is_quiet_before_the_prompt_is_shown(world) {
    const trace = join(world.home, 'trace');
    const chat = new Screen(['strace', '-f', '-e', 'trace=ioctl,write', '-o', trace,
      program, '--config', join(world.home, 'config.toml'), 'chat', '--session', 'quiet'], { env: { HOME: world.home } });
    world.screens.push(chat);
    await chat.until(/\n›$/);
    chat.key('C-c');
    await chat.until(/Ctrl-C again[^]*\n›$/);
    chat.key('C-d');
    await chat.until('[exit 0]');
    let quiet = false;
    let prompts = 0;
    for (const line of readFileSync(trace, 'utf8').split('\n')) {
      if (/TCSETS/.test(line)) quiet = !/[|=]ECHO[|,]/.test(line);
      if (!line.includes('write(1, ') || !line.includes('\\342\\200\\272 ')) continue;
      prompts += 1;
      assert.ok(quiet, line);
    }
    assert.ok(prompts >= 2, `${prompts} prompts in the trace`);
  },

  async whoever_ends_it_the_terminal_is_left_as_it_was(world) {
    const chat = world.chat(['--session', 'ended']);
    await chat.until(/\n›$/);
    chat.say('Tell a story');
    await chat.until('Once upon a time');
    const [shell, tty] = chat.tmux('display-message', '-p', '-t', 'main', '#{pane_pid} #{pane_tty}').trim().split(' ');
    assert.match(execFileSync('stty', ['-a', '-F', tty], { encoding: 'utf8' }), /-echo /);
    process.kill(Number(execFileSync('pgrep', ['-P', shell], { encoding: 'utf8' })), 'SIGTERM');
    await chat.until('[exit 143]');
    assert.match(execFileSync('stty', ['-a', '-F', tty], { encoding: 'utf8' }), / icanon[^]* echo /);
    assert.equal(JSON.parse((await world.pipe(['turns', '--json'])).out).status, 'interrupted');
  },

  async a_tool_is_shown_while_it_runs_and_when_it_has_been_stopped(world) {
    const chat = world.chat(['--session', 'tools']);
    await chat.until(/\n›$/);
    chat.say('Count slowly');
    compare('tool_running', await chat.until(/run_program.*\d/));
    chat.key('C-c');
    await chat.until(said('(stopped'));
    const calls = await (async () => { chat.key('C-d'); await chat.until('[exit 0]'); return world.pipe(['tools', 'calls', '--json']); })();
    assert.equal(JSON.parse(calls.out).tool, 'run_program');
  },

  async a_message_without_an_answer_says_why_after_a_restart_and_is_taken_back_or_tried_again(world) {
    let chat = world.chat(['--session', 'fails']);
    await chat.until(/\n›$/);
    chat.say('Hear me');
    await chat.until(/refused the key[^]*\/retry tries it again[^]*\n›$/);
    chat.key('C-d');
    await chat.until('[exit 0]');
    assert.equal(JSON.parse((await world.pipe(['turns', '--json'])).out).cause.code, 'model_key');
    chat = world.chat(['--session', 'fails']);
    await chat.until(/› Hear me\n[^]*has no answer: [^]*refused the key[^]*\/discard takes it back[^]*\n›$/);
    chat.say('/discard');
    await chat.until(/is taken back[^]*\n›$/);
    chat.say('/discard');
    await chat.until(/has its answer[^]*\n›$/);
    chat.say('Hear me');
    await chat.until((text) => text.split('/retry tries it again').length > 2 && text.endsWith('›'));
    chat.key('C-d');
    await chat.until('[exit 0]');
    chat = world.chat(['--session', 'fails']);
    await chat.until(/has no answer: [^]*\n›$/);
    world.model.release('mended');
    chat.say('/retry');
    await chat.until(said('I hear you.'));
    chat.key('C-d');
    await chat.until('[exit 0]');
    assert.equal((await world.pipe(['turns', '--json'])).out, '');
  },

  async a_question_is_asked_and_answered(world) {
    const chat = world.chat(['--session', 'ask']);
    await chat.until(/\n›$/);
    chat.say('Write it down');
    compare('permission_prompt', await chat.until('never'));
    chat.key('q');                       // no such choice: nothing happens
    chat.key('Up');                      // begins with an escape, and is none
    chat.key('y');
    compare('tool_finished', await chat.until(said('It is written down.')));
    assert.equal(readFileSync(join(world.home, 'work/plan.txt'), 'utf8'), 'Porto\nRibeira');
    chat.say('Write and count');
    await chat.until(/waits[^]*never/);
    chat.key('x');
    compare('mixed_batch', await chat.until(said('One of two was done.')));
    assert.ok(!existsSync(join(world.home, 'work/no.txt')), 'what was denied did not run');
    chat.say('Write and count');         // never is never: nobody is asked again
    await chat.until((text) => said('One of two was done.')(text) && text.split('One of two').length > 2);
    chat.say('/tools');
    compare('tools', (await chat.until(/write_file +unsafe +deny[^]*\n›$/)).split('› /tools\n')[1]);
  },

  async what_is_asked_about_can_be_seen_whole(world) {
    for (const [session, words] of [['whole', []], ['whole-plainly', ['--no-color']]]) {
      const chat = world.chat(['--session', session, ...words], { rows: 20 });
      await chat.until(/\n›$/);
      chat.say('Write a lot');
      const asked = await chat.until(/line 11\n +… and 2\d\d bytes more: v shows all\n.*never/);
      assert.doesNotMatch(asked, /line 12/);
      if (session === 'whole') compare('long_question', asked);
      chat.key('v');
      await chat.until((text) => /line 12/.test(chat.history()) && /line 40[^]*never/.test(text));
      chat.key('n');
      await chat.until(said('It is long.'));
      assert.ok(!existsSync(join(world.home, 'work/long.txt')));
      chat.key('C-d');
      await chat.until('[exit 0]');
    }
  },

  async what_a_server_wants_to_know_is_typed(world) {
    for (const [session, words] of [['wanted', []], ['wanted-plainly', ['--no-color']]]) {
      const chat = world.chat(['--session', session, '--agent', 'asking', ...words]);
      await chat.until(/\n›$/);
      chat.say('Book a table');
      await chat.until(/Which day\?[^]*day:/);
      chat.key('Enter');                 // it must be said
      await chat.until(/day – not that:/);
      chat.type('Monde');
      chat.key('BSpace');
      chat.type('ay');
      await chat.until(/day – not that: Monday/);
      chat.key('Enter');
      await chat.until(/people \(a number; may be empty\):/);
      chat.type('many');
      chat.key('Enter');
      await chat.until(/people .* – not that:/);
      chat.type('4');
      if (session === 'wanted') compare('elicitation', await chat.until(/not that: 4/));
      chat.key('Enter');
      await chat.until(said('It is booked.'));
      assert.match(chat.text(), /accept Monday 4/);
      chat.say('Book a table');
      await chat.until((text) => text.split('Which day?').length > 2);
      chat.key('Escape');
      await chat.until(/decline nothing[^]*It is booked\.[^]*\n›$/);
      chat.key('C-d');
      await chat.until('[exit 0]');
    }
    const piped = await world.pipe(['chat', '--session', 'wanted-nowhere', '--agent', 'asking', 'Book a table']);
    assert.equal(piped.out, 'It is booked.\n');
  },

  async what_a_server_that_has_died_wanted_to_know_is_not_asked_any_more(world) {
    const chat = world.chat(['--session', 'died', '--agent', 'asking']);
    await chat.until(/\n›$/);
    chat.say('Book and wait');
    await chat.until(/Which day\?[^]*day:/);
    const pid = String(world.holder());
    process.kill(Number(execFileSync('pgrep', ['-P', pid], { encoding: 'utf8' })), 'SIGKILL');
    await chat.until((text) => /Which day\? · not wanted any more[^]*desk__book/.test(text) && !/day:/.test(text));
    world.model.release('the end');
    await chat.until(said('It is not booked.'));
    chat.key('C-d');
    await chat.until('[exit 0]');
    assert.equal(JSON.parse((await world.pipe(['tools', 'unknown', '--json'])).out).tool, 'desk__book');
  },

  async branches_undo_retry_and_context(world) {
    const chat = world.chat(['--session', 'tree'], { columns: 120, rows: 40 });
    await chat.until(/\n›$/);
    for (const text of ['one', 'two']) {
      chat.say(text);
      await chat.until(said(`You said: ${text}`));
    }
    chat.say('/fork side');
    await chat.until(/branch side[^]*\n›$/);
    chat.say('three');
    await chat.until(said('You said: three'));
    chat.say('/undo');
    await chat.until(/branch undo-1[^]*\n›$/);
    chat.say('/switch main');
    await chat.until(/branch main[^]*\n›$/);
    chat.say('/retry');
    await chat.until(/branch retry-1[^]*You said: two[^]*─\n›$/);
    chat.say('/branches');
    compare('branch_tree', (await chat.until(/undo-1 ─[^]*\n›$/)).split('› /branches\n')[1]);
    chat.say('/context');
    compare('context', (await chat.until(/model call 1[^]*\n›$/)).split('› /context\n')[1].replace(/ *<?\d[\d.,]*/g, ' N'));
    chat.say('/swich main');
    await chat.until("did you mean 'switch'?");
    chat.say('/switch mian');
    await chat.until("did you mean 'main'?");
    chat.say('/close');
    await chat.until('[exit 0]');
    const state = JSON.parse((await world.pipe(['sessions', 'show', 'tree', '--json'])).out);
    assert.equal(JSON.stringify(state).includes('user_closed'), true, 'the session says who closed it');
    const episodes = await world.pipe(['memory', 'episodes', '--json']);
    assert.match(episodes.out, /"tree"[^]*user_closed/, 'what was said became an episode');
  },

  async the_first_turn_can_be_tried_again(world) {
    const chat = world.chat(['--session', 'first']);
    await chat.until(/\n›$/);
    chat.say('one');
    await chat.until(said('You said: one'));
    chat.say('/retry');
    await chat.until((text) => text.includes('retry-1') && text.split('You said: one').length > 2 && ready.test(text));
  },

  async a_picture_goes_with_the_message_when_it_is_tried_again(world) {
    writeFileSync(join(world.home, 'a dot.png'), Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64'));
    const chat = world.chat(['--session', 'picture', '--model', 'other']);
    await chat.until(/\n›$/);
    chat.say(`/attach "${join(world.home, 'a dot.png')}"`);
    await chat.until(/with a dot\.png[^]*\n›$/);
    chat.say('Look');
    await chat.until(said('You said: Look'));
    chat.say('/retry');
    await chat.until((text) => text.includes('retry-1') && text.split('You said: Look').length > 2 && ready.test(text));
    const [first, again] = world.model.requests.map((request) => JSON.stringify(request.messages.at(-1)));
    assert.match(first, /image_url/);
    assert.equal(again, first);
  },

  async a_model_that_was_chosen_is_kept_over_a_crash(world) {
    const chat = world.chat(['--session', 'chosen', '--model', 'other']);
    await chat.until(/chosen · main · other[^]*\n›$/);
    chat.say('Tell a story');
    await chat.until('Once upon a time');
    process.kill(world.holder(), 'SIGKILL');
    await chat.until('[exit 137]');
    world.model.release('the story');
    const resumed = await world.pipe(['resume', '--session', 'chosen']);
    assert.match(resumed.out, /Once upon a time it ended\./);
    assert.deepEqual(world.model.requests.map((request) => `${request.path} ${request.model}`), Array(2).fill('/v1/other/chat/completions other-1'));
    const wrong = await world.pipe(['chat', '--session', 'chosen', '--model', 'otter', 'hi']);
    assert.equal(wrong.code, 66);
    assert.match(wrong.err, /did you mean 'other'/);
  },

  async whoever_comes_back_is_not_told_that_words_are_void_which_they_have_not_seen(world) {
    const chat = world.chat(['--session', 'back']);
    await chat.until(/\n›$/);
    chat.say('Tell a story');
    await chat.until('Once upon a time');
    process.kill(world.holder(), 'SIGKILL');
    await chat.until('[exit 137]');
    world.model.release('the story');
    const again = world.chat(['--session', 'back']);
    const shown = await again.until(said('Once upon a time it ended.'));
    assert.match(shown, /A turn was interrupted here; it goes on\./);
    assert.doesNotMatch(shown, /is void/);
  },

  async without_colour_it_is_plain_text(world) {
    const chat = world.chat(['--session', 'plain', '--no-color'], { rows: 40 });
    await chat.until(/\n›$/);
    chat.say('Plan my trip');
    compare('no_colour', await chat.until(said('That is all.')));
    chat.say('Write it down');
    const asked = (times) => (text) => text.split('[x] never').length > times;
    await chat.until(asked(1));
    chat.key('n');
    await chat.until(said('It is written down.'));
    chat.say('Write it down');           // no is not never: it is asked again, and Enter is a no, too
    await chat.until(asked(2));
    chat.key('Enter');
    await chat.until(/denied[^]*denied[^]*It is written down\.\n\n[^]*\n›$/);
    assert.ok(!existsSync(join(world.home, 'work/plan.txt')));
    assert.doesNotMatch(chat.colours(), /\x1b\[/);
  },

  async a_dumb_terminal_gets_no_sequences(world) {
    const chat = world.chat(['--session', 'dumb'], { env: { TERM: 'dumb' } });
    const raw = join(world.home, 'raw');
    chat.tmux('pipe-pane', '-t', 'main', `cat > '${raw}'`);
    await chat.until(/\n›$/);
    chat.say('one');
    await chat.until(said('You said: one'));
    chat.say('Write it down');
    await chat.until('[x] never');
    chat.key('n');
    await chat.until(said('It is written down.'));
    chat.key('C-d');
    await chat.until('[exit 0]');
    assert.match(readFileSync(raw, 'utf8'), /You said: one[^]*It is written down/);
    assert.doesNotMatch(readFileSync(raw, 'utf8'), /\x1b/);
  },

  async what_is_pasted_keeps_its_lines_whatever_is_written_there(world) {
    for (const locale of ['C.UTF-8', 'C', '']) {
      const chat = world.chat(['--session', `paste${locale.length}`], { env: { LC_ALL: locale, LANG: '' } });
      await chat.until(/\n›$/);
      chat.paste('Grüße ✓ 日本\n\n  two\n');
      await chat.until(/\n› Grüße ✓ 日本\n\n {2}two$/);
      chat.type('!');
      chat.key('Enter');
      await chat.until(said('You said: Grüße ✓ 日本'));
      assert.equal(world.model.requests.at(-1).messages.at(-1).content, 'Grüße ✓ 日本\n\n  two!');
      chat.key('C-d');
      await chat.until('[exit 0]');
    }
  },

  async lines_history_and_completion(world) {
    const chat = world.chat(['--session', 'lines']);
    await chat.until(/\n›$/);
    chat.type('first');
    chat.key('M-Enter');
    chat.type('second');
    chat.key('Enter');
    await chat.until(said('You said: first second'));
    chat.say('a\\');
    await chat.until(/\n·$/);
    chat.say('b');
    await chat.until(said('You said: a b'));
    chat.type('/br');
    chat.key('Tab');
    await chat.until('› /branches');
    chat.key('Enter');
    await chat.until(/main ───[^]*\n›$/);
    chat.key('C-d');
    await chat.until('[exit 0]');
    const again = world.chat(['--session', 'lines']);
    await again.until(/\n›$/);
    again.key('Up');
    await again.until('› /branches');
    assert.equal(statSync(join(world.home, 'data/chat_history')).mode & 0o77, 0, 'only its owner reads the history');
  },

  async the_picker_offers_what_there_is(world) {
    for (const name of ['porto', 'books']) await world.pipe(['chat', '--session', name], `about ${name}`);
    const chat = world.chat([], { columns: 100 });
    compare('picker', await chat.until(/begins a new one\.\n›$/));
    chat.say('2');
    await chat.until(/You said: about porto[^]*porto · main[^]*\n›$/);
    chat.say('/sessions books');
    await chat.until(/You said: about books[^]*books · main[^]*\n›$/);
  },

  async a_pipe_gives_only_the_answer(world) {
    const answer = await world.pipe(['chat', '--session', 'x'], 'hi\nthere\n');
    assert.deepEqual(answer, { out: 'You said: hi\nthere\n', err: '', code: 0 });
    const lines = await world.pipe(['chat', '--session', 'x', '--lines'], 'a\n\nb\n');
    assert.equal(lines.out, 'You said: a\nYou said: b\n');
    writeFileSync(join(world.home, 'note.txt'), 'Buy milk.');
    await world.pipe(['chat', '--session', 'y', '--attach', join(world.home, 'note.txt'), 'Read this']);
    assert.match(JSON.stringify(world.model.requests.at(-1).messages.at(-1)), /The file note\.txt:[^]*Buy milk\.[^]*Read this/);
    const bad = await world.pipe(['chat', '--session', 'x'], Buffer.from([0x68, 0xff]));
    assert.equal(bad.code, 65);
    assert.match(bad.err, /not UTF-8 at byte 1/);
    const empty = await world.pipe(['chat', '--session', 'x'], '\n');
    assert.equal(empty.code, 1);
    const own = await world.pipe(['chat', '--session', '~memory'], 'hi');
    assert.equal(own.code, 2);
  },

  async nobody_at_a_pipe_can_allow_anything(world) {
    const answer = await world.pipe(['chat', '--session', 'x'], 'Write it down');
    assert.equal(answer.out, 'I will write it down.\nIt is written down.\n');
    assert.ok(!existsSync(join(world.home, 'work/plan.txt')));
  },

  async json_is_one_event_on_a_line(world) {
    const answer = await world.pipe(['chat', '--session', 'x', '--json', 'Write and count']);
    const events = answer.out.trim().split('\n').map((line) => JSON.parse(line));
    assert.equal(events[0].kind, 'turn_started');
    assert.equal(events.at(-1).kind, 'turn_committed');
    assert.deepEqual(events.filter((event) => event.kind === 'tool_call_result').map((event) => event.data.outcome).sort(), ['denied', 'ok']);
    events.forEach((event, i) => assert.ok(i === 0 || event.number > events[i - 1].number));
  },

  async a_chat_that_waits_goes_on_when_another_process_answers(world) {
    const chat = world.chat(['--session', 'beside']);
    await chat.until(/\n›$/);
    chat.say('Write it down');
    await chat.until('never');
    const question = JSON.parse((await world.pipe(['approve', '--json'])).out);
    const answered = await world.pipe(['approve', question.id, 'yes']);
    assert.equal(answered.code, 0, answered.err);
    await chat.until(said('It is written down.'));
    assert.equal(readFileSync(join(world.home, 'work/plan.txt'), 'utf8'), 'Porto\nRibeira');
  },

  async an_answer_can_come_from_another_process(world) {
    const chat = world.chat(['--session', 'away']);
    await chat.until(/\n›$/);
    chat.say('Write it down');
    await chat.until('never');
    const asked = await world.pipe(['approve', '--json']);
    assert.equal(asked.code, 0, asked.err);
    assert.equal(JSON.parse(asked.out).tool, 'write_file');
    // The chat dies while somebody thinks.
    process.kill(world.holder(), 'SIGKILL');
    await chat.until('[exit 137]');
    const turns = await world.pipe(['turns', '--json']);
    assert.equal(JSON.parse(turns.out).status, 'interrupted');
    const questions = await world.pipe(['approve', '--json']);
    const question = JSON.parse(questions.out);
    assert.equal(question.tool, 'write_file');
    assert.match((await world.pipe(['approve', question.id.slice(0, 20)])).out,
      /May write_file run\? It is unsafe\.\n {6}path +plan\.txt\n {6}content +Porto\n +Ribeira\nsession away, branch main, asked just now, expires in \d min/);
    const early = await world.pipe(['resume', '--session', 'away']);
    assert.equal(early.code, 77, early.err);
    assert.match(early.err, /tertulia approve/);
    const wrong = await world.pipe(['approve', question.id, 'onec']);
    assert.equal(wrong.code, 2);
    assert.match(wrong.err, /did you mean 'once'/);
    assert.equal((await world.pipe(['approve', question.id, 'once'])).code, 0);
    assert.equal((await world.pipe(['approve', question.id, 'once'])).code, 66, 'an answer is used once');
    const resumed = await world.pipe(['resume', '--session', 'away']);
    assert.equal(resumed.code, 0, resumed.err);
    assert.match(resumed.out, /It is written down\./);
    assert.equal(readFileSync(join(world.home, 'work/plan.txt'), 'utf8'), 'Porto\nRibeira');
    assert.equal((await world.pipe(['resume', '--session', 'away'])).code, 1);
    assert.match((await world.pipe(['turns', 'away'])).out, /away +main +committed/);
  },
};

let failures = 0;
for (const [name, story] of Object.entries(stories)) {
  if (only && only !== name) continue;
  const model = await startModel(replies);
  const world = new World(model);
  try {
    await story(world);
  } catch (problem) {
    failures += 1;
    console.error(`${name}: ${problem.stack ?? problem}`);
  }
  world.end();
  model.close();
}
for (const difference of differences) console.error(difference);
failures += differences.length;
console.log(`${Object.keys(stories).length} stories, ${failures} failures`);
process.exit(failures === 0 ? 0 : 1);
