import { FitAddon } from '@xterm/addon-fit';
import { Unicode11Addon } from '@xterm/addon-unicode11';
import { WebLinksAddon } from '@xterm/addon-web-links';
import { WebglAddon } from '@xterm/addon-webgl';
import { Terminal } from '@xterm/xterm';
import '@xterm/xterm/css/xterm.css';
import { keyBytes } from './keys';
import { colors } from './theme';

const SCROLLBACK = 20_000;
/** More than this waiting to be drawn means that this browser is too slow, in bytes. */
const MAX_WAITING = 16 << 20;

export interface ScreenHandlers {
  input(data: Uint8Array): void;
  /** There is room for another size now. */
  room(cols: number, rows: number): void;
  /** The user wants out, by keyboard. */
  leave(): void;
  copy(text: string): void;
  overloaded(): void;
}

/** One xterm.js terminal on the page. Each connection has a new one. */
export class Screen {
  readonly term: Terminal;
  private readonly fitter = new FitAddon();
  private readonly encoder = new TextEncoder();
  private waiting = 0;
  private gone = false;
  private told = false;
  /** The size that there is room for. */
  own = { cols: 80, rows: 24 };

  constructor(
    private readonly host: HTMLElement,
    dark: boolean,
    private readonly on: ScreenHandlers,
  ) {
    this.term = new Terminal({
      allowProposedApi: true,
      scrollback: SCROLLBACK,
      minimumContrastRatio: 4.5,
      fontFamily:
        'ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", "Liberation Mono", monospace',
      fontSize: 13.5, // most fonts have letters of a bit over 8 pixels then: they are cut to whole ones
      lineHeight: 1.15,
      cursorBlink: true,
      macOptionIsMeta: true,
      rightClickSelectsWord: false,
      theme: colors(dark),
    });
    const t = this.term;
    t.loadAddon(this.fitter);
    t.loadAddon(new Unicode11Addon());
    t.unicode.activeVersion = '11';
    t.loadAddon(new WebLinksAddon((_, uri) => window.open(uri, '_blank', 'noopener,noreferrer')));
    t.parser.registerOscHandler(52, () => true); // a program reaches the clipboard only over the server
    t.onData((s) => this.on.input(this.encoder.encode(s)));
    t.onBinary((s) => this.on.input(Uint8Array.from(s, (c) => c.charCodeAt(0) & 0xff)));
    t.attachCustomKeyEventHandler((e) => this.key(e));
    t.open(host);
    this.fit();
    this.accelerate();
  }

  /** Draws with the graphics card if there is one; without, or when it is lost, in the document. */
  private accelerate(): void {
    try {
      const gl = new WebglAddon();
      gl.onContextLoss(() => gl.dispose());
      this.term.loadAddon(gl);
    } catch {
      // the document it is
    }
  }

  private key(e: KeyboardEvent): boolean {
    if (e.type !== 'keydown') return true;
    if (e.key === 'F6' && e.shiftKey) {
      e.preventDefault();
      this.on.leave();
      return false;
    }
    if (e.ctrlKey && e.shiftKey && !e.altKey && e.code === 'KeyC') {
      e.preventDefault();
      if (this.term.hasSelection()) this.on.copy(this.term.getSelection());
      return false;
    }
    if (e.ctrlKey && e.shiftKey && !e.altKey && e.code === 'KeyV') return false; // the browser pastes
    const own = keyBytes(e);
    if (own === null) return true;
    e.preventDefault();
    if (!this.term.options.disableStdin) this.on.input(this.encoder.encode(own));
    return false;
  }

  write(data: Uint8Array): void {
    this.waiting += data.length;
    if (this.waiting > MAX_WAITING) {
      this.waiting = 0;
      this.on.overloaded();
      return;
    }
    this.term.write(data, () => (this.waiting -= data.length));
  }

  /** Looks how much room there is. A place that is not shown has none. */
  fit(): void {
    if (this.gone || this.host.clientWidth < 20 || this.host.clientHeight < 20) return;
    const size = this.fitter.proposeDimensions();
    if (!size || !Number.isFinite(size.cols) || !Number.isFinite(size.rows)) return;
    const cols = Math.max(2, size.cols);
    const rows = Math.max(1, size.rows);
    if (cols === this.own.cols && rows === this.own.rows) return;
    this.own = { cols, rows };
    if (!this.told) this.term.resize(cols, rows);
    this.on.room(cols, rows);
  }

  /**
   * Takes the size that the terminal has at this point of what it prints. Once
   * it was told, what there is room for is a wish, and no more.
   */
  resize(cols: number, rows: number): void {
    this.told = true;
    this.term.write('', () => {
      if (!this.gone && (cols !== this.term.cols || rows !== this.term.rows)) this.term.resize(cols, rows);
    });
  }

  setDark(dark: boolean): void {
    this.term.options.theme = colors(dark);
  }

  accept(input: boolean): void {
    this.term.options.disableStdin = !input;
    this.term.options.cursorBlink = input;
  }

  dispose(): void {
    this.gone = true;
    this.term.dispose();
  }
}
