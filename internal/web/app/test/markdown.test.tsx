import { render } from '@testing-library/preact';
import { expect, it } from 'vitest';
import { blocks } from '../src/markdown/blocks';
import { safeLink } from '../src/markdown/links';
import { Markdown } from '../src/markdown/Markdown';

const shown = (text: string) => render(<Markdown text={text} />).container;

it('shows what markdown has', () => {
  const page = shown('# Head\n\n**a** _b_ `c`\n\n- one\n- two\n\n| x |\n| - |\n| y |\n\n```go\nfunc\n```\n');
  for (const tag of ['h3', 'strong', 'em', 'code', 'li', 'th', 'td', 'pre'])
    expect(page.querySelector(tag)).not.toBeNull();
});

it('makes no markup of markup', () => {
  const bad =
    '<script>x()</script>\n\n<img src=x onerror=x()> and <b onclick=x()>b</b>\n\n<iframe src="//e"></iframe>';
  const page = shown(bad);
  expect(page.querySelector('script, img, b, iframe')).toBeNull();
  expect(page.textContent).toContain('<script>x()</script>');
  expect(page.textContent).toContain('onerror');
});

it('follows no link but to the web and to mail', () => {
  expect(safeLink('https://example.org/a')).toBe('https://example.org/a');
  for (const bad of [
    'javascript:x',
    ' JavaScript:x',
    'data:text/html,x',
    'vbscript:x',
    'file:///etc',
    '//e',
    '/c/x',
  ])
    expect(safeLink(bad)).toBeNull();
  const page = shown(
    '[a](javascript:x) [b](https://example.org) ![c](https://example.org/p.png) <javascript:x>',
  );
  expect([...page.querySelectorAll('a')].map((a) => a.getAttribute('href'))).toEqual([
    'https://example.org',
    'https://example.org/p.png',
  ]);
  expect(page.querySelector('a')?.rel).toBe('noopener noreferrer');
  expect(page.querySelector('img')).toBeNull();
});

it('reads a growing text only at its end', () => {
  const text = 'one\n\n```\na\n\nb\n```\n\n- x\n\n- y\n\ntwo\n\n    code\n';
  expect(blocks(text).join('')).toBe(text);
  expect(blocks(text)).toEqual(['one\n\n', '```\na\n\nb\n```\n\n', '- x\n\n- y\n\n', 'two\n\n    code\n']);
  for (let n = 0; n <= text.length; n++) expect(blocks(text.slice(0, n)).join('')).toBe(text.slice(0, n));
});
