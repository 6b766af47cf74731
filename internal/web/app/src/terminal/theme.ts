import type { ITheme } from '@xterm/xterm';

const light: ITheme = {
  background: '#fbfaf8',
  foreground: '#24292e',
  cursor: '#24292e',
  cursorAccent: '#fbfaf8',
  selectionBackground: '#2f6f5e40',
  black: '#24292e',
  red: '#b42323',
  green: '#2c7a3f',
  yellow: '#8a6100',
  blue: '#2058b0',
  magenta: '#8a3c96',
  cyan: '#1d7480',
  white: '#6a737d',
  brightBlack: '#59636e',
  brightRed: '#c93c37',
  brightGreen: '#347d39',
  brightYellow: '#966600',
  brightBlue: '#316dca',
  brightMagenta: '#9a4ba5',
  brightCyan: '#24808c',
  brightWhite: '#24292e',
};

const dark: ITheme = {
  background: '#141615',
  foreground: '#d7dbd8',
  cursor: '#d7dbd8',
  cursorAccent: '#141615',
  selectionBackground: '#5fb39b50',
  black: '#2a2e2c',
  red: '#ef7f76',
  green: '#7fc98b',
  yellow: '#dcb86a',
  blue: '#82aef0',
  magenta: '#cf9be0',
  cyan: '#72c6cf',
  white: '#c4cac6',
  brightBlack: '#79827d',
  brightRed: '#f59c95',
  brightGreen: '#9bdba5',
  brightYellow: '#ead08f',
  brightBlue: '#a3c5f7',
  brightMagenta: '#deb6eb',
  brightCyan: '#93d9e0',
  brightWhite: '#f2f5f3',
};

export function colors(isDark: boolean): ITheme {
  return isDark ? dark : light;
}
