import { expect } from 'chai';
import { LiveLines } from '../../src/cli/live-lines.ts';

function screen(options: { isTTY: boolean; columns?: number }) {
  const written: string[] = [];
  return { ...options, write: (text: string) => written.push(text), written };
}

describe('lines that change', () => {
  it('take the place of those before on a terminal', () => {
    const terminal = screen({ isTTY: true, columns: 80 });
    const lines = new LiveLines(terminal);
    lines.show(['a 1', 'b 1']);
    lines.show(['a 2', 'b 2']);
    expect(terminal.written[0]).not.to.contain('\u001b[2A');
    expect(terminal.written[1]).to.contain('\u001b[2A').and.to.contain('a 2\n').and.to.contain('b 2\n');
  });

  it('stay where they are once kept', () => {
    const terminal = screen({ isTTY: true, columns: 80 });
    const lines = new LiveLines(terminal);
    lines.show(['a 1']);
    lines.keep();
    lines.show(['c 1']);
    expect(terminal.written[1]).not.to.contain('\u001b[1A');
  });

  it('are cut to the width of the terminal, so that none wraps and spoils the count', () => {
    const terminal = screen({ isTTY: true, columns: 6 });
    new LiveLines(terminal).show(['1234567890']);
    expect(terminal.written[0]).to.contain('12345\n');
  });

  it('are told once each where there is no terminal, without control characters', () => {
    const log = screen({ isTTY: false });
    const lines = new LiveLines(log);
    lines.show(['a 1', 'b 1']);
    lines.show(['a 1', 'b 2']);
    expect(log.written).to.deep.equal(['a 1\n', 'b 1\n', 'b 2\n']);
  });
});
