/** Where a sign-in leads: a page of ours that was asked for, never an address that somebody slipped in. */

export const LOGIN_PATH = '/admin/login';
export const BOARD_PATH = '/admin/board';

const OUR_PAGES = /^\/(admin|console)(\/[A-Za-z0-9\-._~/%]*)?(\?[A-Za-z0-9\-._~/%=&+]*)?$/;
/** A browser would climb out of our pages over these. */
const CLIMBING = /\.\.|%2e/i;
const PAGE_LENGTH_MAX = 500;

/** @param home where nothing usable was asked for */
export function nextPage(asked: unknown, home: string): string {
  if (typeof asked !== 'string' || asked.length > PAGE_LENGTH_MAX) return home;
  if (!OUR_PAGES.test(asked) || CLIMBING.test(asked)) return home;
  return asked.startsWith(LOGIN_PATH) ? home : asked;
}

export function loginAddress(next: string): string {
  return `${LOGIN_PATH}?next=${encodeURIComponent(next)}`;
}
