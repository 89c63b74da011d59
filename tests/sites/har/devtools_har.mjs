// Saves the HAR that Chromium's own developer tools make of a page, as "Save all as HAR with content" does:
//   node devtools_har.mjs RUNNER_DIR CHROMIUM URL FILE [CHROMIUM_FLAG ...]
// The developer tools are pages that Chromium serves at its debugging port. Opened on the page's target before it loads, they
// record it, and their modules write the archive.
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

const [runnerDir, executablePath, url, file, ...flags] = process.argv.slice(2);
const puppeteer = createRequire(path.resolve(runnerDir, 'package.json'))('puppeteer-core');

const browser = await puppeteer.launch({
  executablePath,
  headless: true,
  args: ['--remote-debugging-port=0', '--remote-allow-origins=*', ...flags],
});
try {
  const { host } = new URL(browser.wsEndpoint());
  const page = await browser.newPage();
  const session = await page.createCDPSession();
  const { targetInfo } = await session.send('Target.getTargetInfo');
  const tools = await browser.newPage();
  await tools.goto(`http://${host}/devtools/inspector.html?ws=${host}/devtools/page/${targetInfo.targetId}`);
  await tools.waitForFunction(async () => {
    const SDK = await import('./core/sdk/sdk.js');
    const Logs = await import('./models/logs/logs.js');
    return Boolean(SDK.TargetManager.TargetManager.instance().primaryPageTarget()) && Logs.NetworkLog.NetworkLog.instance();
  });
  await tools.evaluate(async () => {
    const SDK = await import('./core/sdk/sdk.js');
    const target = SDK.TargetManager.TargetManager.instance().primaryPageTarget();
    await target.networkAgent().invoke_enable({}); // answered after the tools' own, so that recording has begun
  });
  await page.goto(url, { waitUntil: 'networkidle0' });
  const har = await tools.evaluate(async () => {
    const Common = await import('./core/common/common.js');
    const HAR = await import('./models/har/har.js');
    const Logs = await import('./models/logs/logs.js');
    const parts = [];
    const requests = Logs.NetworkLog.NetworkLog.instance().requests();
    const stream = { write: async (part) => { parts.push(part); } };
    await HAR.Writer.Writer.write(stream, requests, { sanitize: false }, new Common.Progress.Progress());
    return parts.join('');
  });
  writeFileSync(file, har);
} finally {
  await browser.close();
}
