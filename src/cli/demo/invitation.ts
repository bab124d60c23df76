/** Where to look, and what to try, while the demo goes on serving. */
import type { LoadedExample } from '../load-example.ts';

export interface Page {
  readonly title: string;
  readonly path: string;
  readonly behindSignIn?: boolean;
}

const PAGES: readonly Page[] = [
  { title: 'console', path: '/console', behindSignIn: true },
  { title: 'Bull Board', path: '/admin/board', behindSignIn: true },
  { title: 'API docs', path: '/docs' },
  { title: 'OpenAPI', path: '/openapi.json' },
  { title: 'metrics', path: '/metrics' },
];

/** Those of the pages that this Rooftally serves. */
export async function findPages(url: string): Promise<Page[]> {
  const found = await Promise.all(
    PAGES.map(async (page) => {
      const response = await fetch(url + page.path, { redirect: 'manual' });
      await response.body?.cancel();
      return response.status === 404 ? [] : [page];
    }),
  );
  return found.flat();
}

export interface Open {
  readonly url: string;
  readonly adminToken: string;
  readonly example: LoadedExample;
}

const FILE = 'examples/pushes/4-qinggeng-correction.json';
const TITLE_WIDTH = 12;

export function invitation({ url, adminToken, example }: Open, pages: readonly Page[]): string[] {
  return [
    `It goes on serving at ${url}. Look at it:`,
    ...pages.map(
      ({ title, path, behindSignIn }) =>
        `  ${title.padEnd(TITLE_WIDTH)}${url}${path}${behindSignIn ? '  (sign in with the token below)' : ''}`,
    ),
    `  ${'token'.padEnd(TITLE_WIDTH)}${adminToken}`,
    '',
    'Push something from a second terminal (address and key are found by themselves):',
    `  npx rooftally push ${FILE} --watch`,
    'or by hand:',
    `  curl -sS ${url}/api/v1/pushes -H 'Authorization: Bearer ${example.partners[0]?.demoKey}' \\`,
    `    -H "Idempotency-Key: try-$(date +%s)" -H 'Content-Type: application/json' --data @${FILE}`,
    '',
    'Ctrl-C ends it; the data stays for the next time (npm run demo -- --fresh begins anew).',
  ];
}
