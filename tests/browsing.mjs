/**
 * Drives a browser for tests, which is launched as the argument says: reads lists of steps from standard input, a line each, does
 * them in a page of their own, and writes what they gave as a line of JSON.
 */

import {createRequire} from 'node:module';
import {createInterface} from 'node:readline';
import {setTimeout as sleep} from 'node:timers/promises';

const puppeteer = createRequire(new URL('../lighthouse-runner/', import.meta.url))('puppeteer-core');

const DOES = {
  evaluate: (page, script) => page.evaluate(`(async () => {${script}\n})()`),
  press: (page, key) => page.keyboard.press(key),
  click: (page, selector) => page.click(selector),
  goto: (page, url) => page.goto(url),
  wait: (page, selector) => page.waitForSelector(selector),
  frames: (page, for_ms) => framesDuring(page, Number(for_ms)),
  paper: page => pagesOnPaper(page),
  scripts_off: page => page.setJavaScriptEnabled(false),
};

const GIVE = new Set(['evaluate', 'frames', 'paper']);

/** How many pages a printer would make of it. */
async function pagesOnPaper(page) {
  const pdf = Buffer.from(await page.pdf({preferCSSPageSize: true})).toString('latin1');
  return Math.max(...[...pdf.matchAll(/\/Count (\d+)/g)].map(([, count]) => Number(count)));
}

/** By the browser's own trace: how many frames were shown in the next while, and how many of 60 a second were not. */
async function framesDuring(page, for_ms) {
  await page.tracing.start({categories: ['benchmark']});
  await sleep(for_ms);
  const {traceEvents} = JSON.parse(Buffer.from(await page.tracing.stop()).toString());
  const shown_ms = traceEvents.filter(({name}) => name === 'Display::FrameDisplayed').map(({ts}) => ts / 1000).sort((a, b) => a - b);
  const gaps_ms = shown_ms.slice(1).map((at_ms, index) => at_ms - shown_ms[index]);
  const dropped = gaps_ms.map(gap_ms => Math.max(0, Math.round(gap_ms * 60 / 1000) - 1)).reduce((sum, count) => sum + count, 0);
  return {shown: shown_ms.length, dropped, longest_gap_ms: Math.max(...gaps_ms)};
}

/** What the steps give in a page of their own. */
async function visit(steps) {
  const page = await browser.newPage();
  const said = [];
  page.on('console', message => said.push(message.text()));
  page.on('pageerror', error => said.push(String(error)));
  const results = [];
  for (const [name, value] of steps) {
    const found = await DOES[name](page, value);
    if (GIVE.has(name)) results.push(found ?? null);
  }
  await page.close();
  return {results, console: said};
}

const browser = await puppeteer.launch(JSON.parse(process.argv[2]));
try {
  for await (const line of createInterface({input: process.stdin})) {
    const told = await visit(JSON.parse(line)).catch(error => ({error: String(error)}));
    process.stdout.write(`${JSON.stringify(told)}\n`);
  }
} finally {
  await browser.close();
}
