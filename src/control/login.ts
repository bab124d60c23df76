/** GET and POST /admin/login: the admin token, typed by a person, for a session cookie; who signs in is kept. */
import express, { type Request, type RequestHandler, type Response, Router } from 'express';
import { rateLimit } from 'express-rate-limit';
import { z } from 'zod';
import { recordOperation } from '../store/operation-audit.ts';
import type { Sql } from '../store/sql.ts';
import type { AdminToken } from './admin-token.ts';
import { findSignedIn, sessionOperator } from './authenticate.ts';
import { LOGIN_PATH, nextPage } from './next-page.ts';
import { escapeHtml, sendPage } from './page.ts';
import { provenanceOf } from './same-origin.ts';
import { cookieFor, SESSION_MS, sealSession } from './session.ts';

const FAILURES_MAX = 10;
const FAILURES_WINDOW_MS = 15 * 60 * 1000;
const FORM_BYTES_MAX = 4 * 1024;
const NAME_LENGTH_MAX = 40;

export interface LoginDependencies {
  readonly token: AdminToken;
  readonly sql: Sql;
  /** Where a sign-in leads that nobody was sent to. */
  readonly home: string;
}

const formSchema = z.object({
  token: z.string().trim().max(512).default(''),
  name: z
    .string()
    .trim()
    .max(NAME_LENGTH_MAX)
    .regex(/^[\p{L}\p{N} .@_-]*$/u)
    .catch('')
    .default(''),
  next: z.string().optional(),
});

export function loginRouter(needs: LoginDependencies): Router {
  const router = Router({ caseSensitive: true });
  router.get('/', (request, response) => {
    const next = nextPage(request.query.next, needs.home);
    if (findSignedIn(needs.token, request) !== null) response.redirect(303, next);
    else sendLoginPage(response, 200, next, null);
  });
  router.post(
    '/',
    limitFailures(needs),
    express.urlencoded({ extended: false, limit: FORM_BYTES_MAX }),
    signIn(needs),
  );
  return router;
}

function signIn({ token, sql, home }: LoginDependencies): RequestHandler {
  return async (request, response) => {
    const form = formSchema.safeParse(request.body ?? {});
    const next = nextPage(form.data?.next, home);
    if (provenanceOf(request) === 'foreign') {
      sendLoginPage(
        response,
        403,
        next,
        'This sign-in came from a page of another site. Please type the token here.',
      );
    } else if (!form.success || !token.matches(form.data.token)) {
      sendLoginPage(response, 401, next, 'That is not the admin token.');
    } else {
      const { name } = form.data;
      const actor = sessionOperator(name);
      await recordOperation(sql, { ...SIGN_IN, actor, after: { hours: SESSION_MS / 3_600_000 } });
      keepSession(request, response, sealSession(token.sessionKey, name, Date.now() + SESSION_MS));
      response.redirect(303, next);
    }
  };
}

const SIGN_IN = { action: 'SIGN_IN', target: 'console', before: null, reason: null };

function keepSession(request: Request, response: Response, sealed: string): void {
  const { name, options } = cookieFor(request);
  response.cookie(name, sealed, { ...options, maxAge: SESSION_MS, encode: String });
}

/** Counted per address and process (behind a proxy all have the proxy's); a sign-in that succeeds is not counted. */
function limitFailures({ home }: LoginDependencies): RequestHandler {
  return rateLimit({
    windowMs: FAILURES_WINDOW_MS,
    limit: FAILURES_MAX,
    skipSuccessfulRequests: true,
    standardHeaders: 'draft-8',
    legacyHeaders: false,
    validate: { xForwardedForHeader: false },
    handler: (request, response) => {
      const next = nextPage(request.query.next, home);
      sendLoginPage(response, 429, next, 'Too many attempts. Please wait a quarter of an hour.');
    },
  });
}

function sendLoginPage(response: Response, status: number, next: string, fault: string | null): void {
  const invalid = fault === null ? '' : ' aria-invalid="true" aria-describedby="fault"';
  sendPage(
    response,
    status,
    'Sign in',
    `<h1>Sign in</h1>
<p>To tasks, partners, queues and what became of each bill.</p>
<form method="post" action="${LOGIN_PATH}">
<input type="hidden" name="next" value="${escapeHtml(next)}">
<label for="token">Admin token</label>
<input id="token" name="token" type="password" autocomplete="current-password" required autofocus${invalid}>
<label for="name">Your name <small>(kept beside what you change)</small></label>
<input id="name" name="name" autocomplete="nickname" maxlength="${NAME_LENGTH_MAX}">
${fault === null ? '' : `<div class="bad" id="fault" role="alert">${escapeHtml(fault)}</div>`}
<button>Sign in</button>
</form>
<footer>The token is the value of <code>ROOFTALLY_ADMIN_TOKEN</code>. A session lasts ${SESSION_MS / 3_600_000} hours.</footer>`,
  );
}
