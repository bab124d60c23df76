// Gives the dependency linter a TypeScript that it can use: it asks for "typescript", and version 7 has no parser
// to offer, so it would read no TypeScript file and refuse nothing. Version 6 stands in, for the linter alone.

import { registerHooks } from 'node:module';

const ASKED = /^typescript(?=$|\/)/;
const STAND_IN = '@typescript/typescript6';

registerHooks({
  resolve: (specifier, context, next) => next(specifier.replace(ASKED, STAND_IN), context),
});
