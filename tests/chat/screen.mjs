// A program in a terminal of its own (tmux), driven by keys and read as text.
import { execFileSync } from 'node:child_process';

let terminals = 0;

export class Screen {
  constructor(command, { columns = 80, rows = 24, env = {} } = {}) {
    this.socket = `tertulia-${process.pid}-${terminals += 1}`;
    const words = Object.entries(env).map(([name, value]) => `${name}=${quote(value)}`).join(' ');
    // What the program leaves behind can be read until the terminal is closed.
    this.tmux('-f', '/dev/null', 'new-session', '-d', '-s', 'main', '-x', columns, '-y', rows,
      `trap : INT; env -u NO_COLOR TERM=screen-256color ${words} ${command.map(quote).join(' ')}; printf '[exit %s]' $?; exec sleep 3600`);
    this.tmux('set-option', '-g', 'escape-time', '0');
  }

  tmux(...words) {
    return execFileSync('tmux', ['-u', '-L', this.socket, ...words.map(String)], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  }

  // Text as it is; named keys (Enter, C-c, M-Enter) one by one.
  type(text) { this.tmux('send-keys', '-t', 'main', '-l', text); }
  key(...names) { this.tmux('send-keys', '-t', 'main', ...names); }
  // As a terminal pastes: marked, if the program has asked for that.
  paste(text) {
    this.tmux('set-buffer', text);
    this.tmux('paste-buffer', '-p', '-t', 'main');
  }
  say(text) { this.type(text); this.key('Enter'); }
  resize(columns, rows) { this.tmux('resize-window', '-t', 'main', '-x', columns, '-y', rows); }

  text() {
    return this.tmux('capture-pane', '-p', '-t', 'main').split('\n').map((line) => line.trimEnd()).join('\n').trimEnd();
  }
  // With what has scrolled away.
  history() {
    return this.tmux('capture-pane', '-p', '-S', '-', '-t', 'main').split('\n').map((line) => line.trimEnd()).join('\n').trimEnd();
  }
  colours() { return this.tmux('capture-pane', '-p', '-e', '-t', 'main'); }

  // Until the screen looks like this. Returns it.
  async until(pattern, what = String(pattern)) {
    const looks = pattern instanceof RegExp ? (text) => pattern.test(text)
      : typeof pattern === 'function' ? pattern : (text) => text.includes(pattern);
    const end = Date.now() + 60_000;
    let last = '';
    while (Date.now() < end) {
      last = this.text();
      if (looks(last)) return last;
      await new Promise((again) => setTimeout(again, 40));
    }
    throw new Error(`the screen never showed ${what}; it shows:\n${last}`);
  }

  close() { try { this.tmux('kill-server'); } catch { /* it has ended by itself */ } }
}

const quote = (word) => `'${String(word).replaceAll("'", `'\\''`)}'`;
