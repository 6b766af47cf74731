/**
 * Cuts markdown into blocks that can be read each on its own, so that a text
 * that grows is only read again at its end. It cuts at empty lines, but not
 * within a fence, and not where what follows may belong to a list above.
 */
export function blocks(text: string): string[] {
  const out: string[] = [];
  let from = 0;
  let fence: string | null = null;
  let blank = false;
  let listed = false;
  for (let at = 0; at < text.length;) {
    let end = text.indexOf('\n', at);
    if (end < 0) end = text.length;
    const line = text.slice(at, end);
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1];
    if (fence !== null) {
      if (mark && mark[0] === fence[0] && mark.length >= fence.length && line.trim() === mark) fence = null;
    } else if (line.trim() === '') {
      blank = true;
    } else {
      const item = /^ {0,3}([-*+]|\d{1,9}[.)])(\s|$)/.test(line);
      const inner = /^\s/.test(line);
      if (blank && at > from && !(listed && (item || inner)) && !/^( {4}|\t)/.test(line)) {
        out.push(text.slice(from, at));
        from = at;
        listed = false;
      }
      if (item) listed = true;
      if (mark) fence = mark;
      blank = false;
    }
    at = end + 1;
  }
  if (from < text.length) out.push(text.slice(from));
  return out;
}
