/** What the latest inspection found, by rule (INV-1); read at each scrape, so that every process tells the same. */
import { Gauge, type Registry } from 'prom-client';

export interface InspectionFigures {
  readonly rule: string;
  readonly findings: number;
  readonly broken: boolean;
}

export interface InspectionMetricsOptions {
  readonly readFigures: () => Promise<readonly InspectionFigures[]>;
  readonly onTrouble: (where: string, error: unknown) => void;
}

export function registerInspection(registry: Registry, options: InspectionMetricsOptions): void {
  const read = () =>
    options.readFigures().catch((error: unknown) => {
      options.onTrouble('metrics: reading the latest inspection', error);
      return [];
    });
  // Each reads for itself: a gauge that another one fills is written out before it is filled.
  new Gauge({
    name: 'rooftally_inspection_broken',
    help: '1 where a rule of the latest inspection could not look',
    labelNames: ['rule'],
    registers: [registry],
    async collect() {
      const figures = await read();
      this.reset();
      for (const { rule, broken } of figures) this.set({ rule }, broken ? 1 : 0);
    },
  });
  new Gauge({
    name: 'rooftally_inspection_findings',
    help: 'What the latest inspection found, by rule; a broken rule has no figure',
    labelNames: ['rule'],
    registers: [registry],
    async collect() {
      const figures = await read();
      this.reset();
      for (const { rule, findings, broken } of figures) if (!broken) this.set({ rule }, findings);
    },
  });
}
