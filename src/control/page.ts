/** The frame of the few pages that stand outside the console: no script, nothing from elsewhere. */
import type { Response } from 'express';

const CONTENT_SECURITY = [
  "default-src 'none'",
  "style-src 'unsafe-inline'",
  "img-src 'self' data:",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ');

/** @param body HTML; whatever came from outside is escaped by the caller */
export function sendPage(response: Response, status: number, title: string, body: string): void {
  response
    .status(status)
    .set({ 'Content-Security-Policy': CONTENT_SECURITY, 'Cache-Control': 'no-store' })
    .type('html')
    .send(pageHtml(title, body));
}

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ESCAPES[character]!);
}

/** A roof under the sun. */
const MARK = `<svg class="mark" viewBox="0 0 64 64" aria-hidden="true">
  <circle cx="45" cy="18" r="9" fill="#f5b83d"/>
  <path d="M6 42 29 22l23 20" fill="none" stroke="currentColor" stroke-width="5" stroke-linecap="round" stroke-linejoin="round"/>
  <path d="M14 52h30M20 45h18" fill="none" stroke="currentColor" stroke-width="4" stroke-linecap="round" opacity=".55"/>
</svg>`;

function pageHtml(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${escapeHtml(title)} · Rooftally</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<header>${MARK}<span>Rooftally</span></header>
${body}
</main>
</body>
</html>
`;
}

const STYLE = `
:root { color-scheme: light dark; --ink: #16302b; --soft: #5b716b; --line: #d5dfdb; --card: #fff; --field: #fbfdfc;
  --ground: linear-gradient(160deg, #fdf3dc 0%, #e9f2ee 45%, #dce9ee 100%); --act: #14695a; --actInk: #fff; --bad: #a3291f; --badGround: #fdecea; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6efec; --soft: #9db3ac; --line: #2f4640; --card: #14231f; --field: #0f1b18;
  --ground: linear-gradient(160deg, #1d2a22 0%, #0e1917 55%, #101d24 100%); --act: #3fb79f; --actInk: #06231d; --bad: #ff9d92; --badGround: #3a1a17; } }
* { box-sizing: border-box; }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; padding: 1.5rem; background: var(--ground); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", "PingFang SC", "Microsoft YaHei", sans-serif; }
main { width: 100%; max-width: 25rem; background: var(--card); border: 1px solid var(--line); border-radius: 18px; padding: 2.25rem 2rem 2rem;
  box-shadow: 0 24px 60px -30px rgb(10 40 35 / .45); }
header { display: flex; align-items: center; gap: .7rem; font-weight: 650; font-size: 1.15rem; letter-spacing: .01em; }
.mark { width: 2.4rem; height: 2.4rem; color: var(--act); }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 1.4rem 0 .35rem; font-weight: 650; }
p { margin: 0 0 1.2rem; color: var(--soft); }
label { display: block; font-size: .875rem; font-weight: 600; margin: 1rem 0 .35rem; }
label small { font-weight: 400; color: var(--soft); }
input { width: 100%; font: inherit; color: inherit; background: var(--field); border: 1px solid var(--line); border-radius: 10px; padding: .65rem .8rem; }
input:focus-visible, button:focus-visible { outline: 3px solid color-mix(in srgb, var(--act) 45%, transparent); outline-offset: 1px; border-color: var(--act); }
button { width: 100%; margin-top: 1.5rem; font: inherit; font-weight: 650; color: var(--actInk); background: var(--act); border: 0; border-radius: 10px;
  padding: .75rem; cursor: pointer; }
button:hover { filter: brightness(1.07); }
.bad { margin: 1rem 0 0; padding: .7rem .85rem; border-radius: 10px; background: var(--badGround); color: var(--bad); font-size: .925rem; }
footer { margin-top: 1.4rem; padding-top: 1.1rem; border-top: 1px solid var(--line); font-size: .84rem; color: var(--soft); }
code { font-size: .92em; }
`;
