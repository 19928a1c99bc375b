#!/bin/sh
# A page in a browser: it shows every part, keeps within a screen of a desk and of a telephone, and obeys the keyboard.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/support.sh"
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) ||
    { echo "skipped: no chromium"; exit 77; }

expect 0 phantom -o scan.h5 --traj golden --matrix 32 --coils 4 --snr 30 --slices 3 --repetitions 2 -q
expect 0 recon scan.h5 -o image.npy --report page.html -q

# The page with a script behind its own, which plays a user and writes what it finds into the title's attribute.
cat >user.js <<'END'
const found = {}, plane = () => document.querySelector('#planes canvas');
const text = id => document.getElementById(id).parentElement.querySelector('output').textContent;
const sum = () => plane().getContext('2d').getImageData(0, 0, plane().width, plane().height).data.reduce((a, b) => a + b, 0);
const press = key => plane().dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true, cancelable: true}));
const watch = setInterval(() => {
  if (!document.body.dataset.ready) return;
  clearInterval(watch);
  found.ready = document.body.dataset.ready;
  found.wide = document.documentElement.scrollWidth <= innerWidth;
  found.parts = ['made', 'coils', 'kspace', 'settings', 'log'].filter(id => document.getElementById(id).children.length).length;
  found.slice = text('slice');
  const before = sum();
  press('ArrowUp'); found.next = text('slice'); found.changed = sum() !== before;
  press('ArrowUp'); found.end = text('slice');
  press('ArrowRight'); found.frame = text('frame');
  const narrow = plane().style.width; press('+'); found.zoomed = parseFloat(plane().style.width) > parseFloat(narrow);
  const high = document.getElementById('high'); const light = sum(); high.value = high.max; high.dispatchEvent(new Event('input'));
  found.darker = sum() < light;
  const shows = document.getElementById('shows'); shows.value = 'phase'; shows.dispatchEvent(new Event('change'));
  found.phase = document.getElementById('where').textContent;
  press('0'); found.reset = text('slice') + '; ' + text('zoom');
  found.named = [...document.querySelectorAll('canvas')].every(c => c.getAttribute('aria-label') || c.ariaLabel);
  document.title = 'found ' + JSON.stringify(found);
}, 10);
END
{ sed '/<\/body>/,$d' page.html; echo '<script>'; cat user.js; echo '</script></body></html>'; } >played.html
for size in 1280,900 390,800; do
    "$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir="$folder/profile" --window-size=$size \
        --virtual-time-budget=20000 --dump-dom "file://$folder/played.html" >dom 2>browser.log ||
        { cat browser.log; fail "$size: the browser ended with $?"; }
    grep -o '<title>found .*</title>' dom >out || { tail -5 browser.log; fail "$size: the page was never ready"; }
    for part in '"ready":"1"' '"wide":true' '"parts":5' '"slice":"2 of 3"' '"next":"3 of 3"' '"changed":true' '"end":"3 of 3"' \
        '"frame":"repetition 1"' '"zoomed":true' '"darker":true' '"reset":"2 of 3; 1"' '"named":true' 'rad"'; do
        grep -qF "$part" out || fail "$size: no $part"
    done
done
