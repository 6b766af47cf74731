// Plays programs to xterm.js and tells its whole state. A line of JSON in, one
// out: {cols, rows, scrollback, ops: [{write: base64} | {resize: [cols, rows]}]}.
import readline from 'node:readline';
import headless from '@xterm/headless';
import unicode from '@xterm/addon-unicode11';

const sets = (set) => (set ? Object.keys(set).sort().map((k) => k + set[k]).join('') : '');

function color(mode, value) {
  return mode === 0 ? 0 : mode + value; // the mode stands in the bits above 24
}

function look(core, cell) {
  const ext = cell.bg & 0x10000000 ? cell.extended : undefined;
  const link = ext?.urlId ? core._oscLinkService.getLinkData(ext.urlId) : { uri: '' };
  const flags = [cell.isBold(), cell.isDim(), cell.isItalic(), cell.isBlink(), cell.isInverse(), cell.isInvisible(),
    cell.isStrikethrough(), cell.isOverline(), cell.fg & 0x10000000, cell.bg & 0x20000000];
  return {
    fg: color(cell.getFgColorMode(), cell.getFgColor()),
    bg: color(cell.getBgColorMode(), cell.getBgColor()),
    flags: flags.reduce((n, on, bit) => n + (on ? 1 << bit : 0), 0),
    ul: cell.fg & 0x10000000 ? (ext ? (ext._ext & 0x1c000000) >> 26 : 1) : 0,
    ulColor: ext && cell.fg & 0x10000000 && ext.underlineColor !== 0x3ffffff ? ext.underlineColor : 0, // all ones: SGR 59
    link: link ? link.uri : '?', // xterm.js forgets links whose lines are gone
  };
}

function buffer(core, b, cell) {
  const lines = [];
  for (let i = 0; i < b.lines.length; i++) {
    const line = b.lines.get(i);
    const cells = [];
    for (let x = 0; x < core.cols; x++) {
      line.loadCell(x, cell);
      cells.push({ text: cell.getChars(), width: cell.getWidth(), ...look(core, cell) });
    }
    lines.push({ wrapped: line.isWrapped, cells });
  }
  return {
    lines, base: b.ybase, x: b.x, y: b.y, top: b.scrollTop, bottom: b.scrollBottom,
    tabs: Object.keys(b.tabs).map(Number).filter((x) => x < core.cols),
    savedX: b.savedX, savedY: Math.max(b.savedY - b.ybase, 0), savedSet: sets(b.savedCharset),
  };
}

function state(term) {
  const core = term._core;
  const { normal, alt } = core._bufferService.buffers;
  const cell = term.buffer.active.getNullCell();
  const dec = core.coreService.decPrivateModes;
  const charset = core._charsetService;
  const pen = Object.assign(Object.create(Object.getPrototypeOf(cell)), { fg: 0, bg: 0, extended: undefined });
  const attr = core._inputHandler._curAttrData;
  pen.fg = attr.fg;
  pen.bg = attr.bg;
  pen.extended = attr.extended;
  return {
    alternate: core._bufferService.buffer === alt,
    primary: buffer(core, normal, cell),
    other: buffer(core, alt, cell),
    pen: look(core, pen),
    modes: {
      ...term.modes, synchronizedOutputMode: undefined, newline: term.options.convertEol, hidden: core.coreService.isCursorHidden,
      cursor: `${dec.cursorStyle ?? ''} ${dec.cursorBlink ?? ''}`, encoding: core.coreMouseService.activeEncoding,
      blink: term.options.cursorBlink,
    },
    charsets: [0, 1, 2, 3].map((g) => sets(charset._charsets[g])),
    level: charset.glevel,
    charset: sets(charset.charset),
    title: core._inputHandler._windowTitle,
  };
}

function widths() {
  const term = new headless.Terminal({ allowProposedApi: true });
  const service = term._core.unicodeService;
  const of = () => Buffer.from(Uint8Array.from({ length: 0x110000 }, (_, c) => service.wcwidth(c))).toString('base64');
  const plain = of();
  term.loadAddon(new unicode.Unicode11Addon());
  service.activeVersion = '11';
  return { plain, unicode11: of() };
}

for await (const line of readline.createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  const request = JSON.parse(line);
  let reply;
  try {
    if (request.widths) {
      reply = widths();
    } else {
      const term = new headless.Terminal({
        allowProposedApi: true, logLevel: 'off', cols: request.cols, rows: request.rows, scrollback: request.scrollback,
      });
      term.loadAddon(new unicode.Unicode11Addon());
      if (!request.unicode6) term.unicode.activeVersion = '11';
      const answers = [];
      term.onData((data) => answers.push(data));
      for (const op of request.ops ?? []) {
        if (op.resize) term.resize(...op.resize);
        else term._core.writeSync(Buffer.from(op.write ?? '', 'base64'));
      }
      reply = { ...state(term), answers };
      term.dispose();
    }
  } catch (error) {
    reply = { error: String(error?.stack ?? error) };
  }
  process.stdout.write(`${JSON.stringify(reply)}\n`);
}
