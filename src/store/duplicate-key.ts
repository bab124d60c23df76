/** Whether a statement was refused because a row with that key is there (1062). The transaction may go on. */
const DUPLICATE_ERRNO = 1062;

export async function hitsUniqueKey(run: () => Promise<unknown>): Promise<boolean> {
  try {
    await run();
    return false;
  } catch (error) {
    if (error instanceof Error && 'errno' in error && error.errno === DUPLICATE_ERRNO) return true;
    throw error;
  }
}
