/** A client of Rooftally's HTTP API: JSON in, JSON out, and problem documents as errors that say what to do. */
import { Failure } from '../errors.ts';
import type { RequestSigner } from './request-signer.ts';

const TIMEOUT_MS = 120_000;

type Content = string | Blob;

export interface ApiReply<Body> {
  readonly status: number;
  readonly body: Body;
}

/** RFC 9457, as the API answers (ING-10). */
export interface Problem {
  readonly title?: string;
  readonly detail?: string;
  readonly code?: string;
  readonly [field: string]: unknown;
}

export class ApiClient {
  readonly url: string;
  readonly #token: string;
  readonly #signer: RequestSigner | null;

  /** @param signer signs every request */
  constructor(url: string, token: string, signer: RequestSigner | null = null) {
    this.url = url.replace(/\/+$/, '');
    this.#token = token;
    this.#signer = signer;
  }

  /** @throws ApiError unless the answer is a success */
  async get<Body>(path: string): Promise<Body> {
    return (await this.#send<Body>('GET', path)).body;
  }

  /** @throws ApiError unless the answer is a success */
  async post<Body>(path: string, body: unknown = {}): Promise<Body> {
    const text = JSON.stringify(body);
    return (await this.#send<Body>('POST', path, text, { 'content-type': 'application/json' })).body;
  }

  /** Sends a body as it is; `headers` say what it is. */
  async send<Body>(path: string, body: Content, headers: Record<string, string>): Promise<ApiReply<Body>> {
    return this.#send<Body>('POST', path, body, headers);
  }

  async #send<Body>(
    method: string,
    path: string,
    body?: Content,
    more: Record<string, string> = {},
  ): Promise<ApiReply<Body>> {
    const content = body === undefined ? {} : { body };
    const headers = { authorization: `Bearer ${this.#token}`, accept: 'application/json', ...more };
    const response = await this.#fetch(path, {
      method,
      headers: (await this.#signer?.sign({ method, url: this.url + path, headers, ...content })) ?? headers,
      signal: AbortSignal.timeout(TIMEOUT_MS),
      ...content,
    });
    const answer = parse(await response.text());
    if (!response.ok) throw new ApiError(`${method} ${path}`, response.status, answer as Problem);
    return { status: response.status, body: answer as Body };
  }

  async #fetch(path: string, init: RequestInit): Promise<Response> {
    try {
      return await fetch(this.url + path, init);
    } catch (error) {
      const cause = (error as Error).cause;
      const why = cause instanceof Error ? cause.message : (error as Error).message;
      throw new Failure('UNREACHABLE', `${this.url} cannot be reached: ${why}`, { cause: error });
    }
  }
}

export class ApiError extends Failure {
  readonly status: number;
  readonly problem: Problem;

  constructor(request: string, status: number, problem: Problem) {
    const said = [problem.title, problem.detail].filter(Boolean).join(': ');
    super(
      problem.code ?? `HTTP_${status}`,
      `${request} was answered ${status} ${said || 'without a reason'}`,
    );
    this.name = 'ApiError';
    this.status = status;
    this.problem = problem;
  }
}

function parse(text: string): unknown {
  if (text === '') return {};
  try {
    return JSON.parse(text);
  } catch {
    return { title: text.slice(0, 200) };
  }
}
