/** The one secret of the control plane, and the keys that are derived from it. */
import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';

const SESSION_KEY_BYTES = 32;

export class AdminToken {
  readonly #digestKey: Buffer;
  readonly #digest: Buffer;
  /** Signs console sessions; another token makes another key, so a changed token ends all sessions. */
  readonly sessionKey: Buffer;

  constructor(token: string) {
    this.#digestKey = derive(token, 'rooftally admin token comparison');
    this.#digest = this.#digestOf(token);
    this.sessionKey = derive(token, 'rooftally console session');
  }

  /** In a time that says nothing about how much of it was right, nor about its length. */
  matches(given: string): boolean {
    return timingSafeEqual(this.#digestOf(given), this.#digest);
  }

  #digestOf(text: string): Buffer {
    return createHmac('sha256', this.#digestKey).update(text).digest();
  }
}

function derive(token: string, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', token, '', purpose, SESSION_KEY_BYTES));
}
