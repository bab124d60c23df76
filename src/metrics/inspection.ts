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
  const broken = new Gauge({
    name: 'rooftally_inspection_broken',
    help: '1 where a rule of the latest inspection could not look',
    labelNames: ['rule'],
    registers: [registry],
  });
  new Gauge({
    name: 'rooftally_inspection_findings',
    help: 'What the latest inspection found, by rule; a broken rule has no figure',
    labelNames: ['rule'],
    registers: [registry],
    async collect() {
      const figures = await options.readFigures().catch((error: unknown) => {
        options.onTrouble('metrics: reading the latest inspection', error);
        return [];
      });
      this.reset();
      broken.reset();
      for (const { rule, findings, broken: isBroken } of figures) {
        broken.set({ rule }, isBroken ? 1 : 0);
        if (!isBroken) this.set({ rule }, findings);
      }
    },
  });
}
