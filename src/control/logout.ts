/** GET and POST /admin/logout: the browser forgets the session. A changed admin token ends all of them everywhere. */
import { type Request, type Response, Router } from 'express';
import { Problem } from '../http/problem.ts';
import type { AdminToken } from './admin-token.ts';
import { findSignedIn } from './authenticate.ts';
import { LOGIN_PATH } from './next-page.ts';
import { escapeHtml, sendPage } from './page.ts';
import { provenanceOf } from './same-origin.ts';
import { cookieFor } from './session.ts';

export function logoutRouter(token: AdminToken): Router {
  const router = Router({ caseSensitive: true });
  router.get('/', (request, response) => {
    const operator = findSignedIn(token, request);
    if (operator === null) response.redirect(303, LOGIN_PATH);
    else sendLogoutPage(response, operator);
  });
  router.post('/', (request, response) => {
    if (provenanceOf(request) === 'foreign') {
      throw new Problem(403, 'FOREIGN_ORIGIN', 'A sign-out must come from our own pages.');
    }
    forgetSession(request, response);
    response.redirect(303, LOGIN_PATH);
  });
  return router;
}

function forgetSession(request: Request, response: Response): void {
  const { name, options } = cookieFor(request);
  response.clearCookie(name, options);
}

function sendLogoutPage(response: Response, operator: string): void {
  const body = `<h1>Sign out</h1>
<p>You are signed in as <strong>${escapeHtml(operator)}</strong>.</p>
<form method="post" action="/admin/logout"><button>Sign out</button></form>`;
  sendPage(response, 200, 'Sign out', body);
}
