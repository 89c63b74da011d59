/** Lighthouse's accessibility score of pages: reads [{name, url}] and where Chromium is as JSON, writes a line of JSON for each. */

import {createRequire} from 'node:module';
import {text} from 'node:stream/consumers';
import {pathToFileURL} from 'node:url';

const require = createRequire(new URL('../lighthouse-runner/', import.meta.url));
const puppeteer = require('puppeteer-core');
const {snapshot} = await import(pathToFileURL(require.resolve('lighthouse')));

const {launch, pages} = JSON.parse(await text(process.stdin));
const browser = await puppeteer.launch(launch);
try {
  for (const {name, url, dark} of pages) {
    const page = await browser.newPage();
    await page.emulateMediaFeatures([{name: 'prefers-color-scheme', value: dark ? 'dark' : 'light'}]);
    await page.goto(url);
    // As it stands: a page that is kept true never falls silent, for which a load would wait.
    const {lhr} = await snapshot(page, {flags: {onlyCategories: ['accessibility'], logLevel: 'silent', screenEmulation: {disabled: true}}});
    const failed = Object.values(lhr.audits)
      .filter(({score, scoreDisplayMode}) => score === 0 && scoreDisplayMode === 'binary')
      .map(({id, details}) => ({id, nodes: (details?.items ?? []).slice(0, 4).map(({node}) => node?.snippet)}));
    process.stdout.write(`${JSON.stringify({name, score: lhr.categories.accessibility.score * 100, failed})}\n`);
    await page.close();
  }
} finally {
  await browser.close();
}
