// The table of rules and the tests that prove them: docs/rules.md, made from the titles of the tests.
//
// `npm run rules` writes it anew, and takes the mark `notYet` off rules that have a test by now. `npm run rules:check`
// (a step of `npm test`) changes nothing and fails if the table is old, a test names a rule that is not listed in
// docs/rules.json, a rule has no test and is not marked, or a marked one has a test.

import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from '@typescript/typescript6';
import { PROJECT_FOLDER } from './launch.mjs';

const LIST = 'docs/rules.json';
const TABLE = 'docs/rules.md';
/** Of biome.json. */
const LINE_WIDTH = 110;
const RULE = /\b(?:ENG|RET|ING|STA|DIF|ACC|SNP|COV|DEC|LCK|SES|INV|PAY)-\d+\b/g;
const GROUPS = new Set(['describe', 'context', 'suite']);
const TESTS = new Set(['it', 'specify', 'test']);

function main(args) {
  const folder = args.find((arg) => !arg.startsWith('--')) ?? PROJECT_FOLDER;
  const rules = JSON.parse(readFileSync(join(folder, LIST), 'utf8'));
  const tests = readTests(folder);
  const byRule = Map.groupBy(
    tests.flatMap((test) => test.rules.map((rule) => ({ rule, test }))),
    ({ rule }) => rule,
  );
  const faults = args.includes('--check')
    ? check(folder, rules, tests, byRule)
    : write(folder, rules, tests, byRule);
  for (const fault of faults) console.error(fault);
  return faults.length === 0 ? 0 : 1;
}

function check(folder, rules, tests, byRule) {
  const marked = Object.keys(rules).filter((rule) => rules[rule].notYet === true && byRule.has(rule));
  const faults = [
    ...unknownRules(rules, tests),
    ...untested(rules, byRule),
    ...marked.map((rule) => `${rule} is marked notYet in ${LIST}, and has a test: run npm run rules`),
  ];
  if (readIfThere(join(folder, TABLE)) !== tableOf(rules, byRule))
    faults.push(`${TABLE} is not what the titles of the tests say: run npm run rules`);
  return faults;
}

function write(folder, rules, tests, byRule) {
  const kept = Object.entries(rules).map(([rule, { title, notYet }]) => [
    rule,
    notYet === true && !byRule.has(rule) ? { title, notYet } : { title },
  ]);
  writeFileSync(join(folder, LIST), listOf(kept));
  writeFileSync(join(folder, TABLE), tableOf(Object.fromEntries(kept), byRule));
  return [...unknownRules(rules, tests), ...untested(rules, byRule)];
}

function unknownRules(rules, tests) {
  return tests.flatMap(({ file, title, rules: named }) =>
    named
      .filter((rule) => !(rule in rules))
      .map((rule) => `${file}: "${title}" names ${rule}, which is no rule of ${LIST}`),
  );
}

function untested(rules, byRule) {
  return Object.keys(rules)
    .filter((rule) => !byRule.has(rule) && rules[rule].notYet !== true)
    .map((rule) => `${rule} has no test: name it in the title of one, or mark it "notYet": true in ${LIST}`);
}

/** As the formatter would have it: one rule a line where it fits, so that a change of one is a change of few lines. */
function listOf(entries) {
  const lines = entries.map(([rule, { title, notYet }]) => {
    const fields = [`"title": ${JSON.stringify(title)}`, ...(notYet === true ? ['"notYet": true'] : [])];
    const line = `  ${JSON.stringify(rule)}: { ${fields.join(', ')} }`;
    if (line.length < LINE_WIDTH) return line;
    return `  ${JSON.stringify(rule)}: {\n    ${fields.join(',\n    ')}\n  }`;
  });
  return `{\n${lines.join(',\n')}\n}\n`;
}

function tableOf(rules, byRule) {
  const ids = Object.keys(rules);
  const notYet = ids.filter((rule) => rules[rule].notYet === true);
  const lines = ids.map((rule) => `| ${rule} | ${rules[rule].title} | ${testsOf(byRule.get(rule))} |`);
  return [
    '# Rules and their tests',
    '',
    'Made by `npm run rules` from the titles of the tests; not to be edited by hand. The rules and their titles are in',
    `[rules.json](rules.json). ${ids.length - notYet.length} of ${ids.length} rules have a test${notYet.length === 0 ? '.' : `; not yet: ${notYet.join(', ')}.`}`,
    '',
    '| rule | in a line | proved by |',
    '|---|---|---|',
    ...lines,
    '',
  ].join('\n');
}

function testsOf(entries) {
  if (entries === undefined) return '*not yet*';
  const byFile = Map.groupBy(entries, ({ test }) => test.file);
  return [...byFile]
    .map(([file, group]) =>
      fileCell(
        file,
        group.map(({ test }) => test.title),
      ),
    )
    .join('<br>');
}

function fileCell(file, titles) {
  const link = `[${file.replace(/^test\//, '')}](../${file})`;
  return `${link}: ${titles.map((title) => title.replaceAll('|', '\\|').replaceAll('<', '&lt;')).join(' · ')}`;
}

/** Every test with the rules that its title names, or the title of a group around it. In the order of the files. */
function readTests(folder) {
  return globSync('test/**/*.test.ts', { cwd: folder })
    .sort()
    .flatMap((file) => testsOfFile(file.replaceAll('\\', '/'), readFileSync(join(folder, file), 'utf8')));
}

function testsOfFile(file, text) {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true, ts.ScriptKind.TS);
  const found = [];
  const visit = (node, inherited) => {
    const call = mochaCall(node);
    const title = call === null ? null : titleOf(call.title);
    if (title !== null && TESTS.has(call.name)) found.push(testOf(file, title, inherited));
    const own = title !== null && GROUPS.has(call.name) ? [...inherited, ...rulesIn(title)] : inherited;
    ts.forEachChild(node, (child) => visit(child, own));
  };
  visit(source, []);
  return found;
}

function testOf(file, title, inherited) {
  const rules = [...new Set([...inherited, ...rulesIn(title)])];
  const bare = title.replace(/^(?:[A-Z]{3}-\d+\s+)+/, '');
  return { file, title: bare, rules };
}

function rulesIn(title) {
  return title.match(RULE) ?? [];
}

/** `it(…)`, `describe.only(…)`: the name and what stands for the title. */
function mochaCall(node) {
  if (!ts.isCallExpression(node) || node.arguments.length === 0) return null;
  const callee = ts.isPropertyAccessExpression(node.expression)
    ? node.expression.expression
    : node.expression;
  if (!ts.isIdentifier(callee) || !(GROUPS.has(callee.text) || TESTS.has(callee.text))) return null;
  return { name: callee.text, title: node.arguments[0] };
}

/** What a program puts in is shown as an ellipsis. Null where the title is no text at all. */
function titleOf(node) {
  if (ts.isStringLiteralLike(node)) return node.text;
  if (!ts.isTemplateExpression(node)) return null;
  return node.head.text + node.templateSpans.map((span) => `…${span.literal.text}`).join('');
}

function readIfThere(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return null;
  }
}

process.exitCode = main(process.argv.slice(2));
