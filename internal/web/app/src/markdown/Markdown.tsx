import type { Nodes, PhrasingContent, RootContent } from 'mdast';
import { fromMarkdown } from 'mdast-util-from-markdown';
import { gfmFromMarkdown } from 'mdast-util-gfm';
import { gfm } from 'micromark-extension-gfm';
import type { ComponentChildren, JSX } from 'preact';
import { memo } from 'preact/compat';
import { useMemo } from 'preact/hooks';
import { blocks } from './blocks';
import { CodeBlock } from './CodeBlock';
import { safeLink } from './links';

/**
 * Shows markdown. The text becomes a tree, and the tree becomes elements: no
 * HTML is ever made from a string, and HTML within the text stays text.
 */
export function Markdown({ text }: { text: string }) {
  const parts = useMemo(() => blocks(text), [text]);
  return (
    <div class="markdown">
      {parts.map((part, n) => (
        <MarkdownBlock key={n} text={part} />
      ))}
    </div>
  );
}

const MarkdownBlock = memo(({ text }: { text: string }) => {
  const tree = useMemo(
    () => fromMarkdown(text, { extensions: [gfm()], mdastExtensions: [gfmFromMarkdown()] }),
    [text],
  );
  return <>{tree.children.map((n, i) => node(n, i))}</>;
});

function all(nodes: readonly (RootContent | PhrasingContent)[]): ComponentChildren {
  return nodes.map((n, i) => node(n as RootContent, i));
}

function node(n: Nodes, key: number): JSX.Element | string | null {
  switch (n.type) {
    case 'text':
      return n.value;
    case 'html':
      return (
        <span key={key} class="raw">
          {n.value}
        </span>
      );
    case 'paragraph':
      return <p key={key}>{all(n.children)}</p>;
    case 'heading': {
      const Tag = `h${Math.min(6, n.depth + 2)}` as 'h3'; // the page has its own above
      return <Tag key={key}>{all(n.children)}</Tag>;
    }
    case 'strong':
      return <strong key={key}>{all(n.children)}</strong>;
    case 'emphasis':
      return <em key={key}>{all(n.children)}</em>;
    case 'delete':
      return <del key={key}>{all(n.children)}</del>;
    case 'inlineCode':
      return <code key={key}>{n.value}</code>;
    case 'code':
      return <CodeBlock key={key} code={n.value} lang={n.lang ?? ''} />;
    case 'break':
      return <br key={key} />;
    case 'thematicBreak':
      return <hr key={key} />;
    case 'blockquote':
      return <blockquote key={key}>{all(n.children)}</blockquote>;
    case 'list':
      return n.ordered ? (
        <ol key={key} start={n.start ?? 1}>
          {all(n.children)}
        </ol>
      ) : (
        <ul key={key}>{all(n.children)}</ul>
      );
    case 'listItem':
      return (
        <li key={key} class={n.checked != null ? 'task' : undefined}>
          {n.checked != null && <input type="checkbox" checked={n.checked} disabled aria-label="task" />}
          {n.children.map((c, i) => (c.type === 'paragraph' && !n.spread ? all(c.children) : node(c, i)))}
        </li>
      );
    case 'link': {
      const href = safeLink(n.url);
      if (!href) return <span key={key}>{all(n.children)}</span>;
      return (
        <a key={key} href={href} target="_blank" rel="noopener noreferrer" title={n.title ?? href}>
          {all(n.children)}
        </a>
      );
    }
    case 'image': {
      // Nothing is fetched from elsewhere because a model says so.
      const href = safeLink(n.url);
      const alt = n.alt || n.url;
      return href ? (
        <a key={key} href={href} target="_blank" rel="noopener noreferrer">
          {alt}
        </a>
      ) : (
        <span key={key}>{alt}</span>
      );
    }
    case 'table':
      return (
        <div key={key} class="table">
          <table>
            {n.children.map((row, r) => (
              <tr key={r}>
                {row.children.map((cell, c) => {
                  const Tag = r === 0 ? 'th' : 'td';
                  return (
                    <Tag key={c} style={{ textAlign: n.align?.[c] ?? undefined }}>
                      {all(cell.children)}
                    </Tag>
                  );
                })}
              </tr>
            ))}
          </table>
        </div>
      );
    case 'footnoteReference':
      return <sup key={key}>{n.label ?? n.identifier}</sup>;
    case 'footnoteDefinition':
      return (
        <div key={key} class="footnote">
          <sup>{n.label ?? n.identifier}</sup> {all(n.children)}
        </div>
      );
    case 'linkReference':
      return <span key={key}>{all(n.children)}</span>;
    case 'imageReference':
      return <span key={key}>{n.alt}</span>;
    default:
      return null;
  }
}
