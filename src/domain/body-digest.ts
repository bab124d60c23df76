/** `Content-Digest` (RFC 9530): what a sender says that the SHA-256 of its body is, byte for byte as it was sent (ING-10). */
import { isInnerList, parseDictionary, serializeDictionary } from 'structured-headers';

const SHA_256 = 'sha-256';
const SHA_256_BYTES = 32;

/** The field's value for a body with this SHA-256. */
export function contentDigestField(sha256: Uint8Array): string {
  return serializeDictionary({ [SHA_256]: [sha256, new Map()] });
}

/** @returns the SHA-256 that is named; null where the field names other algorithms only; `malformed` where it cannot be read */
export function readContentDigest(field: string): Uint8Array | null | 'malformed' {
  try {
    const member = parseDictionary(field).get(SHA_256);
    if (member === undefined) return null;
    if (isInnerList(member) || !(member[0] instanceof ArrayBuffer)) return 'malformed';
    return member[0].byteLength === SHA_256_BYTES ? new Uint8Array(member[0]) : 'malformed';
  } catch {
    return 'malformed';
  }
}
