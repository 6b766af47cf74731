import { CopyButton } from '../view/CopyButton';

export function CodeBlock({ code, lang }: { code: string; lang: string }) {
  return (
    <div class="code">
      <div class="code-head">
        <span>{lang}</span>
        <CopyButton text={code} />
      </div>
      <pre tabIndex={0} aria-label={lang ? `code, ${lang}` : 'code'}>
        <code>{code}</code>
      </pre>
    </div>
  );
}
