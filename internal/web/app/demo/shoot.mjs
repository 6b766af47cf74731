// Takes the picture of the README: starts a server and a runner of its own in a
// temporary folder, plays one conversation with demo/agent.py, and stops them.
//
//   node demo/shoot.mjs OUTRUNNER PICTURE.png     CHROMIUM=/path/to/chromium if it is elsewhere
import { spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

const [program, picture] = process.argv.slice(2);
const here = dirname(fileURLToPath(import.meta.url));
const address = '127.0.0.1:7197';
const room = mkdtempSync(join(tmpdir(), 'outrunner-shoot-'));
const state = join(room, 'state');
const work = join(room, 'work');
for (const dir of [state, join(state, 'server'), work]) mkdirSync(dir, { mode: 0o700 });
cpSync(join(here, 'agents'), join(state, 'server', 'agents'), { recursive: true });
writeFileSync(
  join(state, 'config.yaml'),
  `harnesses: {"acp:demo": {adapter: stdio, command: [python3, ${JSON.stringify(join(here, 'agent.py'))}]}}\n`,
  { mode: 0o600 },
);

const up = spawn(program, ['up', '--listen', address, '--state', state, '--workspace', work], {
  stdio: ['ignore', 'pipe', 'inherit'],
});
const ended = new Promise((resolve) => up.once('exit', resolve));
const started = new Promise((resolve, reject) => {
  up.stdout.once('data', resolve);
  up.once('error', reject);
  up.once('exit', () => reject(new Error('the program ended; it says why above')));
});
let browser;
try {
  await started;
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
  });
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, colorScheme: 'light' });
  const send = async (agent, text) => {
    await page.goto(`http://${address}/`);
    await page.locator(`[data-agent=${agent}]`).check({ force: true });
    await page.getByTestId('composer').fill(text);
    await page.keyboard.press('Enter');
    await page.getByTestId('message-assistant').first().waitFor();
  };
  await send('shell', 'git log --oneline | head; df -h .');
  await send('shell', 'make test');
  await send('lead', 'Why does the nightly run take 40 minutes?');
  await page.getByTestId('question').waitFor();
  await page.locator('[data-testid=tree-node][data-state=failed]').waitFor();
  await page.mouse.move(640, 20);
  await page.screenshot({ path: picture });
} finally {
  await browser?.close();
  up.kill('SIGINT');
  await ended;
  rmSync(room, { recursive: true, force: true });
}
