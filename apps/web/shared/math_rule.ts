// Formulas in Markdown: $…$ and \(…\) in a line, $$…$$ and \[…\] as blocks. What stands in them is handed on as it is.
import type MarkdownIt from 'markdown-it';

const kClosing: Record<string, string> = { '\\(': '\\)', '\\[': '\\]', $$: '$$' };

export function mathRule(parser: InstanceType<typeof MarkdownIt>): void {
  parser.inline.ruler.before('escape', 'math', (state, silent) => {
    const { src, pos } = state;
    const two = src.slice(pos, pos + 2);
    const closing = kClosing[two];
    let begin: number;
    let end: number;
    if (closing) {
      begin = pos + 2;
      end = src.indexOf(closing, begin);
      if (end < 0) return false;
      state.pos = end + 2;
    } else if (src[pos] === '$') {
      // As in most dialects: no space inside the dollars and no digit behind them, so that prices stay prices.
      begin = pos + 1;
      end = begin;
      for (;;) {
        end = src.indexOf('$', end);
        if (end < 0) return false;
        if (src[end - 1] !== '\\') break;
        end += 1;
      }
      if (end === begin || /\s/.test(src[begin]!) || /\s/.test(src[end - 1]!) || /\d/.test(src[end + 1] ?? '')) return false;
      state.pos = end + 1;
    } else {
      return false;
    }
    if (end > state.posMax) return false;
    if (!silent) {
      const token = state.push('math_inline', 'math', 0);
      token.content = src.slice(begin, end);
      token.meta = { display: two === '$$' || two === '\\[' };
    }
    return true;
  });

  parser.block.ruler.before(
    'fence',
    'math',
    (state, startLine, endLine, silent) => {
      const begin = state.bMarks[startLine]! + state.tShift[startLine]!;
      const opening = state.src.slice(begin, begin + 2);
      if (opening !== '$$' && opening !== '\\[') return false;
      if (state.sCount[startLine]! - state.blkIndent >= 4) return false;
      const closing = kClosing[opening]!;
      let line = startLine;
      let end = -1;
      for (; line < endLine; ++line) {
        if (line > startLine && state.sCount[line]! < state.blkIndent) return false;
        const from = line === startLine ? begin + 2 : state.bMarks[line]! + state.tShift[line]!;
        end = state.src.slice(from, state.eMarks[line]).indexOf(closing);
        if (end >= 0) {
          end += from;
          break;
        }
      }
      // Text behind the formula makes it part of a paragraph.
      if (end < 0 || state.src.slice(end + 2, state.eMarks[line]).trim() !== '') return false;
      if (silent) return true;
      const token = state.push('math_block', 'math', 0);
      token.block = true;
      token.content = state.src.slice(begin + 2, end).trim();
      token.map = [startLine, line + 1];
      token.meta = { display: true };
      state.line = line + 1;
      return true;
    },
    { alt: ['paragraph', 'blockquote', 'list'] },
  );
}
