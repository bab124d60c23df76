/** Where to look, and what to try, while the demo goes on serving. Pure. */
import type { LoadedExample } from '../load-example.ts';

export interface Open {
  readonly url: string;
  readonly adminToken: string;
  readonly example: LoadedExample;
}

export function invitation(open: Open): string[] {
  const { url, adminToken } = open;
  const [partner] = open.example.partners;
  const file = 'examples/pushes/4-qinggeng-correction.json';
  return [
    'It goes on serving. Look at it:',
    `  console      ${url}/console      sign in with the token ${adminToken}`,
    `  Bull Board   ${url}/admin/board  the queues, behind the same sign-in`,
    `  API docs     ${url}/docs         OpenAPI: ${url}/openapi.json`,
    `  metrics      ${url}/metrics`,
    '',
    'Push something from a second terminal (address and key are found by themselves):',
    `  npx rooftally push ${file} --watch`,
    'or by hand:',
    `  curl -sS ${url}/api/v1/pushes -H 'Authorization: Bearer ${partner?.demoKey}' \\`,
    `    -H "Idempotency-Key: try-$(date +%s)" -H 'Content-Type: application/json' --data @${file}`,
    '',
    'Ctrl-C ends it; the data stays for the next time (npm run demo -- --fresh begins anew).',
  ];
}
