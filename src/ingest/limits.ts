/** What a push may cost at most (ING-7); going over one is a 413 or 408 that names it. */
export interface IngestLimits {
  readonly rowsMax: number;
  readonly stationsMax: number;
  readonly bytesMax: number;
  readonly receiveTimeoutMs: number;
  readonly ratePerMinute: number;
  /** Where bodies are spooled; undefined is the system's folder for temporary files. */
  readonly spoolDir: string | undefined;
  readonly identityDays: number;
}
