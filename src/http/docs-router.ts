/**
 * `/docs`: the descriptions for people, drawn by Swagger UI. Everything comes from this address, from a package that is
 * installed with the program: nothing is fetched from elsewhere, and the content security policy stays as it is.
 */
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { Router } from 'express';

/** Of the package, no more than the page needs. */
const ASSETS = [
  'swagger-ui.css',
  'swagger-ui-bundle.js',
  'swagger-ui-standalone-preset.js',
  'favicon-32x32.png',
];
const ASSET_MAX_AGE_MS = 3_600_000;

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Rooftally API</title>
<link rel="stylesheet" href="/docs/assets/swagger-ui.css">
<link rel="icon" type="image/png" href="/docs/assets/favicon-32x32.png">
</head>
<body>
<div id="api"></div>
<noscript>This page needs JavaScript; the description itself is at <a href="/openapi.json">/openapi.json</a>.</noscript>
<script src="/docs/assets/swagger-ui-bundle.js"></script>
<script src="/docs/assets/swagger-ui-standalone-preset.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>
`;

/** Without a validator: it would be asked over the internet. */
const START = `SwaggerUIBundle({
  urls: [
    { url: '/openapi.json', name: 'Partner API' },
    { url: '/admin/openapi.json', name: 'Operators (sign in at /admin first)' },
  ],
  dom_id: '#api',
  deepLinking: true,
  validatorUrl: null,
  presets: [SwaggerUIBundle.presets.apis, SwaggerUIStandalonePreset],
  layout: 'StandaloneLayout',
});
`;

export function docsRouter(): Router {
  const root = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));
  const router = Router({ caseSensitive: true });
  router.get('/', (_request, response) => {
    response.type('html').send(PAGE);
  });
  router.get('/start.js', (_request, response) => {
    response.type('js').send(START);
  });
  for (const name of ASSETS) {
    router.get(`/assets/${name}`, (_request, response) => {
      response.sendFile(name, { root, maxAge: ASSET_MAX_AGE_MS });
    });
  }
  return router;
}
