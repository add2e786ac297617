// The lives of a worker that is started once (lives.h): each is a process of its own, which can be killed.
import { spawn } from 'node:child_process';
import { constants } from 'node:os';

export class Lives {
  constructor(worker) {
    this.server = spawn(worker, ['lives'], { stdio: ['pipe', 'pipe', 'inherit'] });
    this.server.stdin.on('error', () => {});  // that it is gone is told by the end of its output
    // A chunk, not a line, at a time: some lives say a hundred thousand lines.
    this.said = '';
    this.waiting = undefined;
    this.server.stdout.setEncoding('utf8');
    this.server.stdout.on('data', (text) => {
      const lines = (this.said + text).split('\n');
      this.said = lines.pop();
      for (const line of lines) this.waiting?.line(line);
    });
    this.server.on('close', (code, signal) => this.waiting?.gone(`the process of all lives ended with ${code ?? signal}`));
  }

  // Lives one life to its end. on_line(line, kill) hears each line that it says, and may end it.
  // Gives how it ended, { killed, status }, and what it said, unless on_line has heard it.
  live(words, { kill_at = 0, on_line } = {}) {
    if (this.waiting) throw new Error('a life at a time');
    return new Promise((done, failed) => {
      const lines = [];
      let pid;
      const kill = () => {
        try {
          if (pid) process.kill(pid, 'SIGKILL');
        } catch {
          // It ended in this moment, and says so.
        }
      };
      const end = (settle, value) => {
        pid = undefined;
        this.waiting = undefined;
        settle(value);
      };
      this.waiting = {
        line: (line) => {
          if (pid === undefined && line.startsWith('life ')) {
            pid = Number(line.slice(5));
          } else if (line.startsWith('ended ')) {
            const [, how, number] = line.split(' ');
            const killed = how === 'signal' && Number(number) === constants.signals.SIGKILL;
            end(done, { killed, status: how === 'exit' ? Number(number) : `signal ${number}`, lines });
          } else if (on_line) {
            on_line(line, kill);
          } else {
            lines.push(line);
          }
        },
        gone: (why) => end(failed, new Error(why)),
      };
      this.server.stdin.write(`${[kill_at, ...words].join('\t')}\n`);
    });
  }

  end() {
    this.server.stdin.end();
  }
}
