/** The parts of payment bodies, and what a command does with a path. */
import { z } from 'zod';
import { FIRST_BILL_MONTH, isMonth } from '../domain/month.ts';
import { isId } from './reply-list.ts';

const MONTHS_MAX = 240;

export const id = z
  .string()
  .refine((text) => isId(text) && BigInt(text) > 0n, 'must be a positive decimal number, as a string');

export const months = z
  .array(z.string().refine((text) => isMonth(text) && text >= FIRST_BILL_MONTH, 'must be a month, YYYY-MM'))
  .min(1)
  .max(MONTHS_MAX)
  .transform((given) => [...new Set(given)].sort());

export const userId = z.string().trim().min(1, 'is blank').max(64);
export const reason = z.string().trim().min(1, 'is blank').max(255);
/** Of an audit or payment result; unique over all of them. */
export const eventId = z.string().regex(/^[\x21-\x7e]{1,64}$/, 'must be 1 to 64 printable characters');
