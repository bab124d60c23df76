import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { exampleFiles } from '../../examples/generator/files.ts';

const FOLDER = join(import.meta.dirname, '../../examples');
const SIZE_MAX_BYTES = 1_500_000;

describe('the example files', () => {
  const files = exampleFiles();

  for (const [path, text] of files) {
    it(`${path} is what the generator writes, byte for byte`, () => {
      expect(existsSync(join(FOLDER, path)), 'checked in').to.equal(true);
      expect(readFileSync(join(FOLDER, path), 'utf8') === text, 'run: node examples/generate.ts').to.equal(
        true,
      );
    });
  }

  it('are all there is: no file is left over from an older generator', () => {
    const found = ['seed', 'pushes'].flatMap((folder) =>
      readdirSync(join(FOLDER, folder)).map((name) => `${folder}/${name}`),
    );
    expect(found.filter((path) => !files.has(path))).to.deep.equal([]);
  });

  it('stay small enough to read', () => {
    const bytes = [...files.values()].reduce((sum, text) => sum + Buffer.byteLength(text), 0);
    expect(bytes).to.be.below(SIZE_MAX_BYTES);
  });
});
